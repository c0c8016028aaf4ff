"""What the kernel of a namespace is told under /proc/sys: hosts are as Linux ships them,
unless the spec says otherwise. Pure.

`default` reaches interfaces that are made later, and the kernel takes the larger of `all` and the interface's own
value: both are set before any interface exists. A new namespace would else have this machine's values.
"""
from __future__ import annotations

from .spec import Spec

_IPV4 = "net/ipv4/conf"
_IPV6 = "net/ipv6/conf"
_BOTH = ("all", "default")
# With several NICs in one subnet, Linux as shipped answers ARP for any of its addresses on any of its NICs.
_ARP = {"default": ("0", "0"), "strict": ("1", "2")}


def of_host(spec: Spec) -> dict[str, str]:
    ignore, announce = _ARP[spec.arp]
    values = {f"{_IPV4}/{which}/{name}": value for which in _BOTH
              for name, value in (("arp_ignore", ignore), ("arp_announce", announce),
                                  ("rp_filter", str(spec.rp_filter)))}
    values["net/ipv4/tcp_congestion_control"] = spec.cc
    if spec.disable_ipv6:
        return {**values, **of_node()}
    # A host that runs jobs has long seen that its addresses are its own alone. once_up() turns the question on again.
    return {**values, f"{_IPV6}/default/accept_dad": "0"}


def once_up(spec: Spec, nics: list[str]) -> dict[str, str]:
    """What is left for when the links are up:
    a link that comes back asks whether its IPv6 addresses are taken, as shipped."""
    return {} if spec.disable_ipv6 else {f"{_IPV6}/{name}/accept_dad": "1" for name in ("default", *nics)}


def of_node() -> dict[str, str]:
    """Of the node of a pod: its uplinks have no address."""
    return {f"{_IPV6}/{which}/disable_ipv6": "1" for which in _BOTH}


def of_router() -> dict[str, str]:
    """Forwards, filters nothing by source, and answers ARP on the right port alone."""
    values = {f"{_IPV4}/{which}/{name}": value for which in _BOTH
              for name, value in (("rp_filter", "0"), ("send_redirects", "0"), ("arp_ignore", "1"),
                                  ("arp_announce", "2"))}
    values.update({f"{_IPV6}/{which}/forwarding": "1" for which in _BOTH})
    return {**values, "net/ipv4/ip_forward": "1", f"{_IPV6}/default/accept_dad": "0"}
