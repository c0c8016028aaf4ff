"""The networks of the table, and how many of their rails can carry. Pure."""
from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    lab: tuple[str, ...]  # options of `tools/lab run`
    what: str
    rails: int = 2  # rails that carry if hosts are as Linux ships them and the kernel drops nothing
    one_segment: bool = False  # a host has several NICs at one switch
    one_subnet: bool = False  # and these NICs are in one subnet
    routed: bool = False
    switch_per_rail: bool = False  # a switch may fail alone
    fault_hosts: tuple[int, ...] = (0, 1)  # hosts whose NIC 1 may have a fault


kShapes = {
    "cables": Shape(("--shape", "host"), "direct cables"),
    "switch-per-rail": Shape(("--network", "rails"), "a switch per rail", switch_per_rail=True),
    "one-subnet": Shape(("--network", "one-switch", "--subnets", "shared"), "one switch, one subnet", one_segment=True,
                        one_subnet=True),
    "subnet-per-rail": Shape(("--network", "one-switch"), "one switch, a subnet per rail", one_segment=True),
    "routed-metric": Shape(("--network", "routed", "--routes", "metric"), "a gateway and a default route per NIC",
                           routed=True),
    "routed-one": Shape(("--network", "routed", "--routes", "one"), "a gateway per NIC, one default route", rails=1,
                        routed=True),
    "routed-policy": Shape(("--network", "routed", "--routes", "policy"), "a gateway and a routing table per NIC",
                           routed=True),
    "pods": Shape(("--pods", "--subnets", "shared"), "pods with macvlans on one switch, one subnet", one_segment=True,
                  one_subnet=True),
    "2-to-1": Shape(("--nics", "2,1"), "two NICs against one", rails=1, one_segment=True, one_subnet=True,
                    fault_hosts=(0,)),
    "4-to-2": Shape(("--nics", "4,2"), "four NICs against two", one_segment=True, one_subnet=True, switch_per_rail=True,
                    fault_hosts=(1,)),
    "nowhere": Shape(("--network", "rails", "--nics", "3", "--nowhere", "0:2"),
                     "three NICs, one of which leads nowhere", switch_per_rail=True),
}
kRpFilter = (0, 1, 2)


@dataclass(frozen=True)
class Setting:
    """Settings of every host's kernel."""

    arp: str  # default, strict
    rp_filter: int
    ipv6: bool

    def lab(self) -> list[str]:
        return ["--arp", self.arp, "--rp-filter", str(self.rp_filter), *([] if self.ipv6 else ["--disable-ipv6"])]


kSettings = [Setting(arp, rp_filter, ipv6) for arp in ("default", "strict") for rp_filter in kRpFilter
             for ipv6 in (True, False)]


def is_one_nic_by_arp(shape: Shape, setting: Setting) -> bool:
    """Whether packets to any NIC of a host arrive by one NIC and the kernel takes them. IPv6 resolves an address only
    at its own NIC. A strict rp_filter drops packets, ARP requests included, that arrive by the NIC of another
    subnet."""
    dropped = setting.rp_filter == 1 and not shape.one_subnet
    return shape.one_segment and setting.arp == "default" and not setting.ipv6 and not dropped


def is_filtered(shape: Shape, setting: Setting) -> bool:
    """Whether a strict rp_filter drops packets that arrive by a NIC without the route to their source. Only the first
    NIC of one subnet, and the NIC of the best default route, have it."""
    subnet = shape.one_subnet and not setting.ipv6
    return setting.rp_filter == 1 and (subnet or "metric" in shape.lab)


def is_ipv6_needed(shape: Shape, setting: Setting) -> bool:
    """Whether fewer rails would carry without IPv6."""
    return setting.ipv6 and rails_that_carry(shape, replace(setting, ipv6=False)) < rails_that_carry(shape, setting)


def rails_that_carry(shape: Shape, setting: Setting) -> int:
    """Returns the number of rails that carry. 2-to-1 has one NIC at an end, 4-to-2 one NIC of the smaller host per
    switch; no NIC there can take another's packets."""
    alone = "--nics" not in shape.lab and (is_one_nic_by_arp(shape, setting) or is_filtered(shape, setting))
    return 1 if alone else shape.rails


def warning(shape: Shape, setting: Setting) -> str:
    """Returns the setting that a WARN line must name, as a regular expression; empty: no warning is due."""
    if rails_that_carry(shape, setting) == shape.rails:
        return ""
    causes = {"arp_ignore": is_one_nic_by_arp(shape, setting), "rp_filter": is_filtered(shape, setting)}
    return "|".join(word for word, is_cause in causes.items() if is_cause)
