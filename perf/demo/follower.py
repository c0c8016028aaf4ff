"""Follows a file of JSON lines while it grows."""
from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Callable


class Follower(threading.Thread):
    """Calls `show` with each line that is appended to a file."""

    def __init__(self, path: Path, show: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(daemon=True)
        self._path, self._show, self._over, self._read = path, show, threading.Event(), 0

    def run(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        if not self._path.exists():
            return
        text = self._path.read_text()
        whole = text[self._read:text.rfind("\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._show(json.loads(line))

    def stop(self) -> None:
        self._over.set()
        self.join()
        self._look()
