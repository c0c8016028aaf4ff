"""Lost large packets.

A bridge passes a segmentation offload's large packet whatever the MTU of its port. Where packets are to be lost one by
one, the hosts of the lab therefore send segments one by one."""
from __future__ import annotations

import json

from ..iproute import CommandError, ip
from ..plan import Nic, Plan

_MOST = 65535  # segments in one packet: the kernel's own limit
_NOWHERE = "192.0.2.1/32"  # for documentation (RFC 5737)


def shrink_port_mtu(plan: Plan, nic: Nic, mtu_bytes: int) -> None:
    """Limits the switch's port to packets of `mtu_bytes` in both directions. A switch reports nothing about dropped
    packets. A router reports those toward the host (ICMP), as routers do."""
    if plan.switch_ns is None:
        raise CommandError("this lab has no switch: its hosts are wired directly (--network rails makes one per rail)")
    send_one_by_one(plan, nic)
    ip("link", "set", "dev", nic.peer_dev, "mtu", str(mtu_bytes), ns=nic.peer_ns)


def send_one_by_one(plan: Plan, nic: Nic) -> None:
    """Makes this NIC and every NIC that may send to it hand down packets no larger than their MTU."""
    for ns, dev in {*_cable(nic), *(_host_ends(plan) if plan.switch_ns else set())}:
        _set_most(ns, dev, 1)


def restore(plan: Plan, nic: Nic) -> None:
    """Restores the MTU of the port, and segmentation offload unless another NIC's fault needs it off. The limit on a
    port marks such a fault."""
    if plan.switch_ns:
        ip("link", "set", "dev", nic.peer_dev, "mtu", str(plan.mtu_bytes), ns=nic.peer_ns)
    limited = _limited(nic.peer_ns)
    if nic.peer_dev not in limited:
        return
    ends = {(nic.peer_ns, nic.peer_dev)}
    if plan.switch_ns is None:
        ends = _cable(nic)
    elif limited == {nic.peer_dev}:
        ends |= _host_ends(plan)
    for ns, dev in ends:
        _set_most(ns, dev, _MOST)
    for ns in {ns for ns, _ in ends}:
        _make_sockets_look_again(ns)


def _cable(nic: Nic) -> set[tuple[str, str]]:
    return {(nic.carrier_ns, nic.carrier_dev), (nic.peer_ns, nic.peer_dev)}


def _host_ends(plan: Plan) -> set[tuple[str, str]]:
    return {(other.carrier_ns, other.carrier_dev) for other in plan.nics()}


def _limited(ns: str) -> set[str]:
    links = json.loads(ip("-json", "-details", "link", "show", ns=ns))
    return {link["ifname"] for link in links if link.get("gso_max_segs") == 1}


def _set_most(ns: str, dev: str, segments: int) -> None:
    ip("link", "set", "dev", dev, "gso_max_segs", str(segments), ns=ns)


def _make_sockets_look_again(ns: str) -> None:
    """Makes IPv4 sockets look up their route again. An open socket keeps the limit that its NIC had at the last route
    lookup; any change of routes causes a new lookup. The MTU that a router reported stays. IPv6 sockets are not
    affected."""
    for action in ("add", "del"):
        ip("route", action, "blackhole", _NOWHERE, ns=ns)
