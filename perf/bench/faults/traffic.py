"""Waits for the traffic of rails, by the counters of their interfaces."""
from __future__ import annotations

import time
from pathlib import Path


def wait_for_traffic(rails: list[str], counters: tuple[str, ...], more_bytes: int, patience_s: float) -> None:
    """Returns once the counters of these rails ("tx_bytes", "rx_bytes") have grown by `more_bytes` together, or after
    `patience_s`."""
    files = [Path("/sys/class/net") / rail / "statistics" / counter for rail in rails for counter in counters]

    def count() -> int:
        return sum(int(file.read_text()) for file in files)

    before, give_up = count(), time.monotonic() + patience_s
    while count() - before < more_bytes and time.monotonic() < give_up:
        time.sleep(0.002)
