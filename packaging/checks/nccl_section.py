"""README's section for NCCL in a system where a package is installed: two processes exchange messages by the plugin."""

from __future__ import annotations

import re
import socket
import subprocess

from checks import readme
from checks.systems import CheckFailed, System, finish

_LOOPBACK = {"RAILWEAVE_RAILS": "lo", "RAILWEAVE_SHM": "off"}  # a wire between hosts, not shared memory
_TRANSFER = ["railweave-net-perf", "--verify", "--duration", "2"]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def compared(output: str) -> int:
    """Returns how many messages rank 0 compared. Errors: CheckFailed, if none were compared or some differ."""
    found = re.search(r"compared (\d+) messages, (\d+) of them wrong", output)
    if not found or int(found[1]) == 0 or int(found[2]) != 0:
        raise CheckFailed(f"expected messages that were compared and were right, found:\n{output}")
    return int(found[1])


def check(system: System, path: str = "") -> str:
    """Returns a line of what was seen. `path`: a folder that PATH needs for the program; empty: none. Errors:
    CheckFailed."""
    prefix = {"PATH": path} if path else {}
    script = "\n".join([*readme.nccl_exports(), 'test -f "$NCCL_NET_PLUGIN"', 'exec "$@"'])

    def with_exports(command: list[str]) -> list[str]:
        return ["sh", "-ec", script, "sh", *command]

    settings = {**prefix, **_LOOPBACK}
    if "lo" not in system.run(with_exports(["railweave", "info"]), settings):
        raise CheckFailed("railweave info: expected the interface lo")
    meeting = {**settings, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()),
               "NCCL_DEBUG": "WARN"}
    ranks = [subprocess.Popen(system.words(with_exports(_TRANSFER), {**meeting, "RANK": str(rank)}),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for rank in (0, 1)]
    try:
        outputs = [finish(rank, 60) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    return f"{compared(outputs[0])} messages compared"


def check_name(system: System) -> None:
    """The dynamic linker finds the plugin by its name alone, as for NCCL_NET_PLUGIN=railweave. Errors: CheckFailed."""
    compared(system.run(["railweave-net-perf", "--local", "--verify", "--duration", "0.5", "--plugin",
                         "libnccl-net-railweave.so"], _LOOPBACK))
