"""Runs `ip`, `tc`, `ss` and `nft`, and many commands of `ip` in one process (`-batch`)."""
from __future__ import annotations

import json
import shutil
import subprocess


class CommandError(RuntimeError):
    """A command failed. The message has the command and its error output."""


def _run(argv: list[str], text: str | None = None) -> str:
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise CommandError(f"{argv[0]}: not found (install iproute2)") from missing
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        raise CommandError(f"{' '.join(argv)}: {said or f'exit status {done.returncode}'}"
                           + (f"; commands: {text!r}" if text else ""))
    return done.stdout


def ip(*args: str, ns: str | None = None) -> str:
    """Runs `ip ARGS` in a namespace (None: this one). Raises CommandError."""
    return _run(["ip", *(["-n", ns] if ns else []), *args])


def ip_batch(ns: str, lines: list[str], *options: str) -> None:
    """Runs lines of `ip` commands in a namespace, up to the first failure. Raises CommandError."""
    if lines:
        _run(["ip", *options, "-n", ns, "-batch", "-"], "\n".join(lines) + "\n")


def tc(ns: str, *args: str) -> str:
    """Runs `tc ARGS` in a namespace. Raises CommandError."""
    return _run(["tc", "-n", ns, *args])


def ss(ns: str, *args: str) -> str:
    """Runs `ss ARGS` in a namespace. Raises CommandError."""
    return _run(["ss", "--net", ns, *args])


def nft(ns: str, rules: str) -> None:
    """Loads rules into `nft` in a namespace: all of them or none. Raises CommandError."""
    if shutil.which("nft") is None:
        raise CommandError("nft: not found (install nftables)")
    _run(["ip", "netns", "exec", ns, "nft", "-f", "-"], rules)


def sysctl(ns: str, values: dict[str, str]) -> None:
    """Writes values under /proc/sys inside a namespace. Keys are paths below /proc/sys. Raises CommandError."""
    if not values:
        return
    script = "".join(f"printf %s '{value}' > /proc/sys/{key}\n" for key, value in values.items())
    _run(["ip", "netns", "exec", ns, "sh", "-ec", script])


def namespaces() -> list[str]:
    """Returns the names of all named network namespaces of this machine. Raises CommandError."""
    text = ip("-json", "netns", "list")
    return [entry["name"] for entry in json.loads(text)] if text.strip() else []


def pids_in(ns: str) -> list[int]:
    """Returns the processes whose network namespace is `ns`. Raises CommandError."""
    return [int(pid) for pid in ip("netns", "pids", ns).split()]
