"""Messages between the two ranks' halves of a program."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from pathlib import Path


class Mailbox:
    """Sends and receives values as files in a folder; the hosts of a lab are one machine."""

    def __init__(self, patience_s: float) -> None:
        """`patience_s`: how long receive() waits for the other rank."""
        self._folder = Path(tempfile.gettempdir()) / f"{os.environ['RWLAB']}-peers"
        self._folder.mkdir(exist_ok=True)
        self._rank, self._patience_s = int(os.environ["RANK"]), patience_s

    def send(self, what: str, value: object) -> None:
        path = self._folder / f"{what}.{self._rank}"
        new = path.with_name(path.name + ".new")
        new.write_text(json.dumps(value))
        new.rename(path)

    def receive(self, what: str) -> object:
        """Waits for the value that the other rank sent under the name `what`. Raises SystemExit if none comes in
        time."""
        path, give_up = self._folder / f"{what}.{1 - self._rank}", time.monotonic() + self._patience_s
        while not path.exists():
            if time.monotonic() > give_up:
                raise SystemExit(f"rank {1 - self._rank} does not say {path.stem}")
            time.sleep(0.002)
        return json.loads(path.read_text())

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
