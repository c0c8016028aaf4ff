"""Interfaces, cables and switches that stop."""
from __future__ import annotations

from .. import shaping
from ..iproute import CommandError, ip, tc
from ..plan import Host, Nic, Plan


def take_down(host: Host, nic: Nic) -> None:
    """As its operator would: carrier is lost here, and at the other end of a direct cable.
    Routes by the NIC go with it."""
    ip("link", "set", "dev", nic.name, "down", ns=host.ns)


def take_port_down(plan: Plan, nic: Nic) -> None:
    """The switch's or router's port goes down. The NIC, still up, loses its carrier.
    Its addresses and routes stay (a pod's too)."""
    _need_switch(plan)
    ip("link", "set", "dev", nic.peer_dev, "down", ns=nic.peer_ns)


def take_switch_down(plan: Plan, nic: Nic) -> None:
    """The switch that the NIC is at forwards nothing, for any of its ports; no host sees its carrier go."""
    _need_switch(plan)
    if nic.bridge is None:
        raise CommandError("this lab has a router in the place of switches: nothing to take down but ports")
    ip("link", "set", "dev", nic.bridge, "down", ns=plan.switch_ns)


def cut(nic: Nic) -> None:
    """Drops every packet of the NIC in both directions while its carrier stays up."""
    cut_out(nic)
    _swallow(nic.peer_ns, nic.peer_dev)


def cut_out(nic: Nic) -> None:
    """The same one way: what the host sends is lost, what it is sent arrives."""
    _swallow(nic.carrier_ns, nic.carrier_dev)


def restore_lines(nic: Nic) -> list[str]:
    """For `ip` in the namespace of the NIC's switch or router."""
    bridge = [f"link set dev {nic.bridge} up"] if nic.bridge else []
    return [*bridge, f"link set dev {nic.peer_dev} up"]


def _need_switch(plan: Plan) -> None:
    if plan.switch_ns is None:
        raise CommandError("this lab has no switch: its hosts are wired directly (--network rails makes one per rail)")


def _swallow(ns: str, dev: str) -> None:
    """Nothing leaves the device; its carrier stays up."""
    shaping.remove(ns, dev)
    # A bucket smaller than any packet: tbf drops what can never fit.
    tc(ns, "qdisc", "add", "dev", dev, "root", "handle", "1:", "tbf", "rate", "8kbit", "burst", "1", "limit", "1")
