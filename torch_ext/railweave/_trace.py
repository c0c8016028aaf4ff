"""Records the operations of a process (docs/guide/trace.md)."""

import atexit
import errno
import fcntl
import json
import os
import time
import warnings
from pathlib import Path

import torch.distributed as dist

from railweave._chrome import as_chrome
from railweave._extension import _C
from railweave._output import naming
from railweave._records import Records, take

_RECORDS_MOST = 1 << 20  # 48 MiB; pages are touched as records come
_CLOCK_OF_FILES = 5  # CLOCK_REALTIME_COARSE: the clock of file stamps, in ticks of some milliseconds
_steps = 0
_last = ()  # result of take(): a fifth of the memory of its objects
_wrote = {}  # by path: the stamp of this process's last write
_joined = None  # rank and size in the last default group; used if that group is gone or not there yet


def joined(rank, size):
    """Notes that this process is `rank` of a group of `size`, which is being made. If the group lies within the default
    group, notes the rank there: ranks of a smaller group identify no process. The first group begins the trace of
    RAILWEAVE_TRACE."""
    global _joined
    first = _joined is None
    _joined = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (rank, size)
    if first:
        _begin_as_the_environment_says()


def step():
    """Marks the beginning of a training step, which ends the step before. The last step ends with the trace. Without a
    trace, step() only counts."""
    global _steps
    _C._trace_step(_steps)
    _steps += 1


def last_records():
    """Returns the records of the last trace that ended in this process; empty before the first."""
    return Records(*_last)


def _rank_and_size():
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    if _joined is not None:
        return _joined
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def _write(path, text, rank, began_ns):
    """Writes `text` to `path`. If another process wrote this file since `began_ns` (a rank with the same path), writes
    to ``path.<rank>`` and warns."""
    with naming(path), open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
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
        warnings.warn(f"trace: another process wrote {path} meanwhile; this process wrote {beside} "
                      "(put %r, which stands for the rank, into the path)", stacklevel=3)
        with naming(beside):
            beside.write_text(text)


def _check_folder(path):
    """Raises FileNotFoundError when the trace begins, and not after the work. A folder with the rank in its name (%r)
    is not checked."""
    folder = os.path.dirname(path or "")
    if folder and "%r" not in folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"trace: no such folder: {folder}; it is for", path)


class trace:
    """Records within ``with`` every operation, its segments on each rail, every wait, and steps.
    Then writes a Chrome trace.

    `path`: of the JSON file; ``%r`` in it is replaced by the rank. If another rank wrote the file meanwhile, the trace
    goes to ``path.<rank>``, with a warning. None: no file is written; call :func:`railweave.report`.
    One trace at a time in a process. At most 1,048,576 records (48 MiB); later ones are counted and dropped.

    Waits are those of the host. For CUDA tensors the host waits until the wire is done, and kernels may run meanwhile.
    Operations that are unfinished when the trace ends are missing.
    Raises RuntimeError if a trace is running already. Raises OSError at once if the folder does not exist, and at the
    end if the file cannot be written (then the records are kept for report()).
    """

    def __init__(self, path=None):
        if not (path is None or isinstance(path, str | bytes | os.PathLike)):
            raise TypeError(f"trace: expected a path or None, found {path!r}")
        self._path = None if path is None else os.fsdecode(path)
        self._process = None

    def __enter__(self):
        _check_folder(self._path)
        if not _C._trace_start(_RECORDS_MOST):
            raise RuntimeError("trace: a trace is running already in this process "
                               "(RAILWEAVE_TRACE begins one with the first group)")
        self._process, self._began_ns = os.getpid(), time.clock_gettime_ns(_CLOCK_OF_FILES)
        return self

    def __exit__(self, *_raised):
        global _last
        if self._process != os.getpid():  # a forked child: the inherited trace is the parent's
            return
        self._process, _last = None, take()
        if dropped := _last[2]:
            warnings.warn(f"trace: {dropped} records did not fit and are missing", stacklevel=2)
        if self._path is not None:
            rank, size = _rank_and_size()
            path = Path(self._path.replace("%r", str(rank)))
            _write(path, json.dumps(as_chrome(last_records(), rank, size)), rank, self._began_ns)


def _begin_as_the_environment_says():
    """Begins the trace of RAILWEAVE_TRACE=PATH, which lasts from the first group to the end of the process."""
    path = os.environ.get("RAILWEAVE_TRACE")
    if not path:
        return
    whole = trace(path)
    try:
        whole.__enter__()  # ranks forked later have no trace: they inherit no records
    except (OSError, RuntimeError) as error:  # no such folder, or the program's own trace is running
        warnings.warn(f"RAILWEAVE_TRACE={path}: {error}; nothing is traced", stacklevel=1)
        return

    def end():
        _C._leave_all()  # ends operations, so that the file has them
        try:
            whole.__exit__()
        except OSError as error:
            warnings.warn(f"RAILWEAVE_TRACE={path}: {error}", stacklevel=1)

    atexit.register(end)
