"""The rows of perf/real_hosts.json: combinations of shape, kernel settings and fault, and the expected results.
Pure."""
from __future__ import annotations

import itertools
from dataclasses import dataclass

from bench.faults.losses import kLosses

from .pairwise import Pair, cover, pairs_of
from .shapes import Setting, Shape, is_ipv6_needed, is_one_nic_by_arp, kSettings, kShapes, rails_that_carry, warning

# Faults of a family are alike for a shape. Every shape is combined with each family, every setting with each fault.
kFamilies = {
    "link": ("down-sender", "down-receiver", "port-down"),
    "silence": ("switch", "silent", "one-way"),
    "end": ("reset", "firewall-reset", "firewall-reject"),
    "some packets": ("firewall-drop", "firewall-one-way", "mtu-hole"),
    "host": ("routes-lost", "address-lost", "arp-flip"),
}
_FAMILY_OF = {fault: family for family, faults in kFamilies.items() for fault in faults}
_NO_PAUSE_EVERY = 12  # every twelfth row is watched for 15 s more
_SHORT_S, _LONG_S = 5.5, 20.5  # full speed is promised within 5 s

# Rounds and seconds of net_perf in a row without a fault. Where IPv4 takes the wrong NIC or none, IPv6 replaces it
# within seconds.
_ROUNDS, _ROUND_S, _AT_ONCE_S = 3, 1.2, 0.5
_ALONE_S, _SETTLE_S = 3.0, 7.0
_WARNED_S = 11.0  # a warning about a rail that cannot carry comes within ten seconds


@dataclass(frozen=True)
class Cell:
    shape: str
    setting: Setting
    fault: str

    @property
    def name(self) -> str:
        """Name of the row without its fault."""
        setting = self.setting
        return f"{self.shape}/arp-{setting.arp}/rp{setting.rp_filter}/{'ipv6' if setting.ipv6 else 'no-ipv6'}"


# Cells that are always included: shapes in which ARP leaves one NIC, with and without IPv6.
_CERTAIN = [Cell(shape, Setting("default", 0, ipv6), fault)
            for shape, faults in (("one-subnet", ("down-receiver", "port-down")),
                                  ("subnet-per-rail", ("down-receiver", "port-down")),
                                  ("pods", ("down-sender", "down-receiver")))
            for ipv6, fault in zip((True, False), faults)]


def can_happen(shape: Shape, fault: str) -> bool:
    """Returns False for a fault that needs something the shape lacks, or that would take all rails."""
    if fault in ("port-down", "mtu-hole"):
        return shape is not kShapes["cables"]
    if fault == "switch":
        return shape.switch_per_rail
    if fault == "arp-flip":
        return shape.one_segment and not shape.switch_per_rail
    if fault in ("down-sender", "down-receiver"):
        return (0 if fault == "down-sender" else 1) in shape.fault_hosts
    return True


def _pairs(cell: Cell) -> list[Pair]:
    settings = [("arp", cell.setting.arp), ("rp_filter", cell.setting.rp_filter), ("ipv6", cell.setting.ipv6)]
    of_shape = pairs_of([("shape", cell.shape), ("family", _FAMILY_OF[cell.fault])])
    beside = [(other, setting) for setting in settings for other in (("shape", cell.shape), ("fault", cell.fault))]
    return [*of_shape, *beside, *pairs_of(settings)]


def chosen() -> list[Cell]:
    """Returns cells that cover every possible pair of shape and setting, shape and family of faults, fault and setting,
    and two settings."""
    cells = [Cell(shape, setting, fault) for setting, fault, shape in itertools.product(kSettings, kLosses, kShapes)
             if can_happen(kShapes[shape], fault)]
    return sorted(cover(cells, _pairs, _CERTAIN),
                  key=lambda cell: (list(kShapes).index(cell.shape), kSettings.index(cell.setting)))


def _left(cell: Cell) -> int:
    """Returns the rails that carry while NIC 1 has the fault. If only one rail carries, NIC 1 is not needed."""
    rails = rails_that_carry(kShapes[cell.shape], cell.setting)
    return max(1, rails - 1)


def _is_excepted(cell: Cell) -> bool:
    """One segment with default ARP and IPv6 off: the job may end with an error that names the ARP setting."""
    return is_one_nic_by_arp(kShapes[cell.shape], cell.setting)


def without_fault(cell: Cell) -> dict:
    """Returns the row without a fault, as in the file."""
    shape = kShapes[cell.shape]
    said, settle_s = warning(shape, cell.setting), _SETTLE_S if is_ipv6_needed(shape, cell.setting) else _AT_ONCE_S
    seconds = _WARNED_S if said else _ALONE_S if settle_s == _SETTLE_S else _ROUND_S
    return {"name": cell.name, "lab": [*shape.lab, *cell.setting.lab()], "rails": rails_that_carry(shape, cell.setting),
            "warning": said, "settle_s": settle_s, "seconds": seconds, "rounds": _ROUNDS if seconds == _ROUND_S else 1}


def row(cell: Cell, number: int) -> dict:
    """Returns a row as in the file. `number` spreads hosts and long watches over the rows."""
    shape, loss = kShapes[cell.shape], kLosses[cell.fault]
    host = {"down-sender": 0, "down-receiver": 1}.get(cell.fault, shape.fault_hosts[number % len(shape.fault_hosts)])
    still = without_fault(cell)
    return {"name": f"{cell.name}/{cell.fault}", "lab": [*still["lab"], *loss.lab], "rails": still["rails"],
            "fault": cell.fault, "host": host, "left": _left(cell), "visible": loss.is_visible,
            "excuse": "arp_ignore" if _is_excepted(cell) else "",
            "watch_s": _LONG_S if number % _NO_PAUSE_EVERY == 0 else _SHORT_S}


# Shape and fault that failed on real hosts before lanes were proven both ways.
_FAILED_BEFORE = [("cables", "down-receiver"), ("one-subnet", "down-receiver"), ("one-subnet", "port-down"),
                  ("one-subnet", "arp-flip"), ("subnet-per-rail", "down-receiver"), ("subnet-per-rail", "port-down"),
                  ("pods", "down-receiver"), ("routed-metric", "down-receiver"), ("routed-metric", "down-sender"),
                  ("routed-metric", "routes-lost"),
                  ("nowhere", "down-receiver"), ("switch-per-rail", "mtu-hole"), ("switch-per-rail", "address-lost")]
_AS_SHIPPED = Setting("default", 0, True)


def failed_before() -> list[dict]:
    return [{**row(cell, number), "name": f"{cell.shape}/{cell.fault}", "watch_s": _SHORT_S}
            for number, cell in enumerate(Cell(shape, _AS_SHIPPED, fault) for shape, fault in _FAILED_BEFORE)]
