"""Recording what a process does: docs/guide/trace.md."""

import atexit
import errno
import fcntl
import json
import os
import time
import warnings
from pathlib import Path

import torch.distributed as dist

from railweave import _C
from railweave._chrome import as_chrome
from railweave._output import naming
from railweave._records import Records, take

_RECORDS_MOST = 1 << 20  # 48 MiB, touched as they come
_CLOCK_OF_FILES = 5  # CLOCK_REALTIME_COARSE: what files are stamped with, by ticks of some milliseconds
_steps = 0
_last = ()  # what take() gave: a fifth of what it is as objects
_wrote = {}  # by path, the stamp of what this process wrote there last
_joined = None  # rank and size of the last default group: where that is gone, or not there yet


def joined(rank, size):
    """This process is `rank` of a group of `size`: the default one, or one within that, whose ranks name no process."""
    global _joined
    _joined = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (rank, size)


def step():
    """A training step begins here; the one before it ends, and the last one with the trace.
    While no trace is on it only counts."""
    global _steps
    _C._trace_step(_steps)
    _steps += 1


def last_records():
    """Of the last trace that ended in this process; empty before the first."""
    return Records(*_last)


def _rank_and_size():
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    if _joined is not None:
        return _joined
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def _write(path, text, rank, began_ns):
    """To `path`; beside it where another process wrote that since: a rank which was given the same."""
    with naming(path), open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        found = os.fstat(file.fileno())
        others = found.st_size > 0 and found.st_mtime_ns >= began_ns and found.st_mtime_ns != _wrote.get(path)
        if not others:
            if found.st_size > 0:
                file.truncate(0)
            file.write(text)
            file.flush()
            _wrote[path] = os.fstat(file.fileno()).st_mtime_ns
    if others:
        beside = Path(f"{path}.{rank}")
        warnings.warn(f"trace: another process wrote {path} meanwhile; this one's is {beside} "
                      "(%r in a path stands for the rank)", stacklevel=3)
        with naming(beside):
            beside.write_text(text)


def _check_folder(path):
    """Told when the trace begins, not when the work is done.
    Of a folder that is named by the rank nothing is known yet."""
    folder = os.path.dirname(path or "")
    if folder and "%r" not in folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"trace: no such folder: {folder}; it is for", path)


class trace:
    """Records within ``with``: every operation, its segments on each rail, every wait, steps;
    and writes a Chrome trace.

    `path`: of the JSON file; ``%r`` in it stands for the rank. Where another rank wrote it meanwhile it becomes
    ``path.<rank>``, and a warning says so. None: nothing is written, :func:`railweave.report` tells.
    One at a time in a process. At most 1,048,576 records (48 MiB); what comes after them is counted and dropped.

    Waits are the host's: of CUDA tensors it waits until the wire is done, and kernels may run meanwhile. What is
    unfinished when it ends is missing.
    Raises RuntimeError if a trace is on already, OSError at once if there is no such folder and at the end if the file
    cannot be written (then the records are kept for report()).
    """

    def __init__(self, path=None):
        if not (path is None or isinstance(path, str | bytes | os.PathLike)):
            raise TypeError(f"trace: expected a path or None, found {path!r}")
        self._path = None if path is None else os.fsdecode(path)
        self._process = None

    def __enter__(self):
        _check_folder(self._path)
        if not _C._trace_start(_RECORDS_MOST):
            raise RuntimeError("trace: one is on already in this process (RAILWEAVE_TRACE begins one with the import)")
        self._process, self._began_ns = os.getpid(), time.clock_gettime_ns(_CLOCK_OF_FILES)
        return self

    def __exit__(self, *_raised):
        global _last
        if self._process != os.getpid():  # a forked child: what it inherited is its parent's
            return
        self._process, _last = None, take()
        if dropped := _last[2]:
            warnings.warn(f"trace: {dropped} records found no room and are missing", stacklevel=2)
        if self._path is not None:
            rank, size = _rank_and_size()
            path = Path(self._path.replace("%r", str(rank)))
            _write(path, json.dumps(as_chrome(last_records(), rank, size)), rank, self._began_ns)


def begin_as_the_environment_says():
    """RAILWEAVE_TRACE=PATH: from the import to the process's end."""
    path = os.environ.get("RAILWEAVE_TRACE")
    if not path:
        return
    whole = trace(path)
    try:
        whole.__enter__()  # forked ranks begin none: they inherit no records
    except OSError as error:
        warnings.warn(f"RAILWEAVE_TRACE={path}: {error}; nothing is traced", stacklevel=1)
        return

    def end():
        if _joined is None:  # a loader's worker, say: the file is another process's
            return
        try:
            whole.__exit__()
        except OSError as error:
            warnings.warn(f"RAILWEAVE_TRACE={path}: {error}", stacklevel=1)

    atexit.register(end)
