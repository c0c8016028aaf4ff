"""Kernel settings of a namespace under /proc/sys. Hosts are as Linux ships them, unless the spec says otherwise. Pure.

`default` applies to interfaces that are made later. For an interface the kernel takes the larger of `all` and its own
value. Both are therefore set before any interface exists; a new namespace would otherwise have this machine's
values."""
from __future__ import annotations

from .spec import Spec

_IPV4 = "net/ipv4/conf"
_IPV6 = "net/ipv6/conf"
_BOTH = ("all", "default")
# Linux as shipped answers ARP for any of its addresses on any NIC when several NICs are in one subnet.
_ARP = {"default": ("0", "0"), "strict": ("1", "2")}


def of_host(spec: Spec) -> dict[str, str]:
    ignore, announce = _ARP[spec.arp]
    values = {f"{_IPV4}/{which}/{name}": value for which in _BOTH
              for name, value in (("arp_ignore", ignore), ("arp_announce", announce),
                                  ("rp_filter", str(spec.rp_filter)))}
    values["net/ipv4/tcp_congestion_control"] = spec.cc
    if spec.disable_ipv6:
        return {**values, **of_node()}
    # A host that runs jobs detected long ago that its addresses are unique. once_up() turns the detection on again.
    return {**values, f"{_IPV6}/default/accept_dad": "0"}


def once_up(spec: Spec, nics: list[str]) -> dict[str, str]:
    """Returns settings for the time after the links are up. A link that comes back then checks whether its IPv6
    addresses are taken, as shipped."""
    return {} if spec.disable_ipv6 else {f"{_IPV6}/{name}/accept_dad": "1" for name in ("default", *nics)}


def of_node() -> dict[str, str]:
    """Returns settings for a pod's node, whose uplinks have no address."""
    return {f"{_IPV6}/{which}/disable_ipv6": "1" for which in _BOTH}


def of_router() -> dict[str, str]:
    """Returns settings for a router: forwards, does not filter by source, and answers ARP on the right port only."""
    values = {f"{_IPV4}/{which}/{name}": value for which in _BOTH
              for name, value in (("rp_filter", "0"), ("send_redirects", "0"), ("arp_ignore", "1"),
                                  ("arp_announce", "2"))}
    values.update({f"{_IPV6}/{which}/forwarding": "1" for which in _BOTH})
    return {**values, "net/ipv4/ip_forward": "1", f"{_IPV6}/default/accept_dad": "0"}
