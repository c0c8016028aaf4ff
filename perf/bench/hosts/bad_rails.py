"""A rail that is bad from the start, beside clean ones."""
from __future__ import annotations

from dataclasses import dataclass

from bench.faults.losses import Happen, kLosses
from lab import faults, shaping

_LOST_PERCENT = 40
_SLOW_BPS = 1_000_000
_CLEAN = (1, 3)


@dataclass(frozen=True)
class Bad:
    what: str
    make: Happen


kBad = {
    "mtu-hole": Bad(kLosses["mtu-hole"].what, kLosses["mtu-hole"].happen),
    "lossy": Bad(f"{_LOST_PERCENT} % of its packets lost",
                 lambda plan, host, nic: faults.lose_packets(plan, nic, _LOST_PERCENT)),
    "slow": Bad("of 1 Mb/s", lambda plan, host, nic: shaping.set_rate(plan, nic, _SLOW_BPS)),
    "firewall-one-way": Bad(kLosses["firewall-one-way"].what, kLosses["firewall-one-way"].happen),
}


def rows() -> list[dict]:
    """Returns the rows as in the file. Packets have 9000 bytes, so that sending them one by one costs little."""
    return [{"name": f"{name}/{clean}-clean", "lab": ["--network", "rails", "--nics", str(clean + 1), "--mtu", "9000"],
             "bad": name, "rails": clean} for name in kBad for clean in _CLEAN]
