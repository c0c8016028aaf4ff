"""How the two halves of a program tell each other what they saw."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from pathlib import Path


class Meeting:
    """What the ranks' halves tell one another: files in a folder, the hosts are one machine."""

    def __init__(self, patience_s: float) -> None:
        """`patience_s`: how long a rank waits for what the other one tells."""
        self._folder = Path(tempfile.gettempdir()) / f"{os.environ['RWLAB']}-peers"
        self._folder.mkdir(exist_ok=True)
        self._rank, self._patience_s = int(os.environ["RANK"]), patience_s

    def tell(self, what: str, value: object) -> None:
        path = self._folder / f"{what}.{self._rank}"
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(value))
        new.rename(path)

    def hear(self, what: str) -> object:
        """What the other rank tells. Raises SystemExit where it does not."""
        path, give_up = self._folder / f"{what}.{1 - self._rank}", time.monotonic() + self._patience_s
        while not path.exists():
            if time.monotonic() > give_up:
                raise SystemExit(f"rank {1 - self._rank} does not say {path.stem}")
            time.sleep(0.002)
        return json.loads(path.read_text())

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
