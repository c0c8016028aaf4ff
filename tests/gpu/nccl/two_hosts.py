"""Makes NCCL take two ranks on one GPU for two hosts, so that all data between them goes through a net plugin."""

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

NETS = {"railweave": "Railweave", "socket": "Socket"}


def environment(net, plugin, rank, folder, **own):
    """Returns the environment of a rank. NCCL logs to `folder`, and the ranks meet there. `own` overrides the rest."""
    return {
        **os.environ,
        "RANK": str(rank), "WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "0", "MEETING": str(folder / f"meeting-{net}"),
        # NCCL sees two hosts, which may both use the one GPU.
        "NCCL_HOSTID": f"railweave-test-{rank}", "NCCL_MULTI_RANK_GPU_ENABLE": "1",
        "NCCL_NET": NETS[net], "NCCL_NET_PLUGIN": str(plugin) if net == "railweave" else "none",
        # No other transport between the ranks, and no feature that needs a GPU for each rank.
        "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MNNVL_ENABLE": "0",
        "NCCL_CUMEM_ENABLE": "0",
        "NCCL_RAS_ENABLE": "0",  # its connections do not use the net plugin
        # The kernels of both ranks fit on the GPU. Also the number of channels, so of windows in flight.
        "NCCL_MAX_CTAS": "2",
        "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV",
        "NCCL_DEBUG_FILE": str(folder / f"{net}-{rank}.nccl.log"),
        **own,
    }


def over_loopback(net, plugin, rank, folder, lanes):
    """Returns the environment of a rank with `lanes` lanes over loopback in place of rails."""
    return environment(net, plugin, rank, folder, NCCL_SOCKET_IFNAME="=lo",
                       **({"RAILWEAVE_LANES_PER_RAIL": str(lanes)} if net == "railweave" else {}))


def nccl_said(net, folder):
    """Returns everything that NCCL logged at both ranks."""
    return "".join(path.read_text(errors="replace") for path in sorted(folder.glob(f"{net}-*.nccl.log")))


def uses(name, said):
    return f"Using network {name}" in said


def plugin_warnings(said):
    return [line for line in said.splitlines() if "NET/Railweave" in line and " WARN " in line]


_FOUND = """
import json, torch
there = torch.cuda.is_available() and torch.distributed.is_nccl_available()
print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda,
                  "gpu": torch.cuda.get_device_name(0) if there else None,
                  "nccl": ".".join(map(str, torch.cuda.nccl.version())) if there else None}))
"""


def found():
    """Returns what this Python's torch finds ("gpu": None without a GPU), the date and the commit (`-dirty`: the tree
    differed).

    Asks in another process, because ranks cannot be forked from a process that has used the GPU.
    """
    done = subprocess.run([sys.executable, "-c", _FOUND], capture_output=True, text=True, check=False)
    seen = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"torch": None, "gpu": None}
    return {**seen, "python": platform.python_version(), "date": datetime.date.today().isoformat(),
            "railweave": _commit()}


def _commit():
    """Returns the commit of this tree; empty without git."""
    try:
        return subprocess.run(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--abbrev=40",
                               "--dirty", "--exclude=*"], capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def no_gpu(seen):
    """Returns why the tests cannot run with `seen`, found()'s result; None: they can."""
    if seen["torch"] is None:
        return f"skipped: {sys.executable} has no torch"
    return None if seen["gpu"] else f"skipped: no GPU, or no NCCL, that {sys.executable}'s torch ({seen['torch']}) sees"
