"""Interfaces, cables and switches that stop."""
from __future__ import annotations

from .. import shaping
from ..iproute import CommandError, ip, tc
from ..plan import Host, Nic, Plan


def take_down(host: Host, nic: Nic) -> None:
    """Takes the NIC down, as its operator would. Carrier is lost here and at the other end of a direct cable. The NIC's
    routes disappear."""
    ip("link", "set", "dev", nic.name, "down", ns=host.ns)


def take_port_down(plan: Plan, nic: Nic) -> None:
    """Takes the switch's or router's port down. The NIC stays up but loses its carrier. Its addresses and routes stay,
    also in a pod."""
    _need_switch(plan)
    ip("link", "set", "dev", nic.peer_dev, "down", ns=nic.peer_ns)


def take_switch_down(plan: Plan, nic: Nic) -> None:
    """Stops the NIC's switch from forwarding for any of its ports. No host loses carrier."""
    _need_switch(plan)
    if nic.bridge is None:
        raise CommandError("this lab has a router in the place of switches: nothing to take down but ports")
    ip("link", "set", "dev", nic.bridge, "down", ns=plan.switch_ns)


def cut(nic: Nic) -> None:
    """Drops every packet of the NIC in both directions while its carrier stays up."""
    cut_out(nic)
    _swallow(nic.peer_ns, nic.peer_dev)


def cut_out(nic: Nic) -> None:
    """Drops the packets that the host sends. Packets to the host arrive."""
    _swallow(nic.carrier_ns, nic.carrier_dev)


def restore_lines(nic: Nic) -> list[str]:
    """Returns lines for `ip` in the namespace of the NIC's switch or router."""
    bridge = [f"link set dev {nic.bridge} up"] if nic.bridge else []
    return [*bridge, f"link set dev {nic.peer_dev} up"]


def _need_switch(plan: Plan) -> None:
    if plan.switch_ns is None:
        raise CommandError("this lab has no switch: its hosts are wired directly (--network rails makes one per rail)")


def _swallow(ns: str, dev: str) -> None:
    """Lets nothing leave the device. Its carrier stays up."""
    shaping.remove(ns, dev)
    # The bucket is smaller than any packet, and tbf drops packets that can never fit.
    tc(ns, "qdisc", "add", "dev", dev, "root", "handle", "1:", "tbf", "rate", "8kbit", "burst", "1", "limit", "1")
