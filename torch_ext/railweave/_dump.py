"""Writes what this rank's process groups do and wait for to a file, for `railweave explain`."""

import os
from pathlib import Path

from railweave._extension import _C


def dump(folder=None):
    """Writes a dump of this process (docs/guide/hung_jobs.md): which operations its process groups are in, which ranks
    they wait for, and where its Python threads are. Changes nothing. Any thread may call it.

    `folder`: an existing or new folder; None: RAILWEAVE_DUMP_DIR. Returns the file's path. Raises ValueError without a
    folder or without a process group, and OSError if the file cannot be written.
    """
    said, written, errno = _C._dump("" if folder is None else os.fspath(folder))
    if written:
        return Path(said)
    raise OSError(errno, said) if errno else ValueError(f"railweave.dump: {said}")
