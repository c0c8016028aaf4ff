"""Measures raw TCP over a lab's rails between its two ranks, with the kernel settings that keep rails apart.

raw_tcp binds its sockets to interfaces. With Linux's own ARP on one segment such a connection may not even be
established. The yardstick is the rails' capacity, not the part that ARP leaves."""
from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from .rank_programs import RankPrograms

_CONF = Path("/proc/sys/net/ipv4/conf")
_APART = {"arp_ignore": "1", "arp_announce": "2", "rp_filter": "0"}


@contextmanager
def _rails_apart() -> Iterator[None]:
    """Applies the settings in this host's namespace. Both hosts drop MAC addresses learnt under other settings."""
    files = [conf / name for conf in _CONF.iterdir() for name in _APART]
    before = {file: file.read_text() for file in files}
    try:
        for file in files:
            file.write_text(_APART[file.name])
        _forget_neighbours()
        yield
    finally:
        for file, text in before.items():
            file.write_text(text)
        _forget_neighbours()


def _forget_neighbours() -> None:
    for nic in os.environ["RWLAB_NICS"].split(","):
        subprocess.run(["ip", "neigh", "flush", "dev", nic], check=False, capture_output=True)


def raw_gbps(ranks: RankPrograms, rails: int, seconds: float = 1.0) -> list[float]:
    """Returns the rate of each of the first `rails` NICs, measured one after the other; zeros on rank 1. Raises
    SystemExit if raw_tcp fails."""
    nics = os.environ["RWLAB_NICS"].split(",")[:rails]
    with _rails_apart():
        found, said = ranks.end(ranks.begin("raw_tcp", "--rails", "=" + ",".join(nics), "--cc", "cubic",
                                            "--duration", str(seconds), "--warmup", "0.3"))
    if int(os.environ["RANK"]) != 0:
        return [0.0] * rails
    if found is None:
        raise SystemExit(f"raw_tcp failed: {said}")
    return [found["summary"]["per_rail_gbps"][nic] for nic in nics]
