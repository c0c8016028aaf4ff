"""One small JSON file per living lab. Its owner holds a lock on the file, which ends with the owner in any case."""
from __future__ import annotations

import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .iproute import CommandError, ip, namespaces
from .plan import Plan

kPrefix = "rwlab"


class NoSuchLab(LookupError):
    """`--lab` names no living lab. The message lists the living ones."""


def folder() -> Path:
    """Returns the folder of the files: /run for root, else a folder of the user; also the latter for the root of a user
    namespace. Raises OSError if no folder can be written to."""
    places = [Path(parent) / f"railweave-lab-{os.geteuid()}"
              for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()) if parent]
    if os.geteuid() == 0:
        places.insert(0, Path("/run/railweave-lab"))
    for path in places:
        try:
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(path, os.W_OK | os.X_OK):
            return path
    raise PermissionError(f"no folder for the lab's files: cannot write {' or '.join(map(str, places))}; "
                          "XDG_RUNTIME_DIR names another place")


def new_name() -> str:
    """Returns a name that is unique on this machine: prefix, pid, random."""
    return f"{kPrefix}-{os.getpid()}-{secrets.token_hex(2)}"


class Claim:
    """The lock and file of one lab. A forked child that inherits the descriptor, as the guardian does, keeps the lock
    too."""

    def __init__(self, name: str) -> None:
        self.path = folder() / f"{name}.json"
        self.fd = self._lock()
        while not _is_file_of(self.path, self.fd):  # another starting lab took the file for a leftover and removed it
            os.close(self.fd)
            self.fd = self._lock()

    def _lock(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return fd

    def write(self, plan: Plan) -> None:
        text = json.dumps({"pid": os.getpid(), "plan": plan.to_json()}, indent=1).encode()
        os.pwrite(self.fd, text, 0)
        os.ftruncate(self.fd, len(text))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _is_file_of(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(fd))
    except FileNotFoundError:
        return False


@contextmanager
def _held_by_us(path: Path) -> Iterator[bool]:
    """Yields False if another process holds the file's lock or the file does not exist."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = True
        except BlockingIOError:
            ours = False
        yield ours
    finally:
        os.close(fd)


def _is_held(path: Path) -> bool:
    with _held_by_us(path) as ours:
        return path.exists() and not ours


def living() -> dict[str, dict]:
    """Returns name and content of every lab whose owner lives."""
    found = {}
    for path in sorted(folder().glob(f"{kPrefix}-*.json")):
        if _is_held(path):
            try:
                found[path.stem] = json.loads(path.read_text())
            except ValueError:
                pass  # being written
    return found


def load(name: str | None) -> Plan:
    """Returns the plan of a living lab; None means the only one. Raises NoSuchLab."""
    labs = living()
    known = ", ".join(labs) or "none"
    if name is None:
        if len(labs) != 1:
            raise NoSuchLab(f"--lab is needed unless exactly one lab lives (living: {known})")
        name = next(iter(labs))
    if name not in labs:
        raise NoSuchLab(f"--lab {name}: no such lab (living: {known})")
    return Plan.from_json(labs[name]["plan"])


def clean_leftovers() -> list[str]:
    """Removes namespaces and files of labs whose owner and guardian are both gone. Returns the labs' names."""
    removed = []
    for path in folder().glob(f"{kPrefix}-*.json"):
        with _held_by_us(path) as ours:  # held until the file is removed: its owner may be about to lock it
            if not ours:
                continue
            removed.append(path.stem)
            for ns in _namespaces_of(path.stem):
                try:
                    ip("netns", "del", ns)
                except CommandError:
                    pass  # another lab's start removed it first
            path.unlink(missing_ok=True)
    return removed


def _namespaces_of(lab: str) -> list[str]:
    try:
        return [ns for ns in namespaces() if ns.startswith(f"{lab}-")]
    except CommandError:
        return []
