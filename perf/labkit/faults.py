"""What can happen to a NIC in mid-traffic: its interface, its cable, the switch behind it, its connections.

All raise CommandError; restore() undoes all of them but reset().
"""
from __future__ import annotations

from . import shaping
from .iproute import CommandError, ip, ss, tc
from .plan import Host, Nic, Plan


def take_down(host: Host, nic: Nic) -> None:
    """As its operator would: carrier is lost here, and at the other end of a direct cable."""
    ip("link", "set", "dev", nic.name, "down", ns=host.ns)


def _swallow(ns: str, dev: str) -> None:
    """Nothing leaves the device; its carrier stays up."""
    shaping.remove(ns, dev)
    # A bucket smaller than any packet: tbf drops what can never fit.
    tc(ns, "qdisc", "add", "dev", dev, "root", "handle", "1:", "tbf", "rate", "8kbit", "burst", "1", "limit", "1")


def cut(host: Host, nic: Nic) -> None:
    """Drops every packet of the NIC in both directions while its carrier stays up."""
    cut_out(host, nic)
    _swallow(nic.peer_ns, nic.peer_dev)


def cut_out(host: Host, nic: Nic) -> None:
    """The same one way: what the host sends is lost, what it is sent arrives."""
    _swallow(host.ns, nic.name)


def take_switch_down(plan: Plan, nic: Nic) -> None:
    """The switch of the NIC's subnet forwards nothing; no host sees its carrier go. Needs a lab with a switch."""
    if plan.switch_ns is None:
        raise CommandError("this lab has no switch: its hosts are wired directly (--shape switch makes one)")
    ip("link", "set", "dev", f"rail{nic.subnet}", "down", ns=plan.switch_ns)


def reset(host: Host, nic: Nic) -> None:
    """Aborts every TCP connection of the NIC's address at this host; the other ends are sent a RST."""
    ss(host.ns, "--kill", "--tcp", "state", "established", "src", nic.address)


def restore(plan: Plan, host: Host, nic: Nic) -> None:
    """The NIC, both ends of its cable and its switch work as in the beginning; the rates are the plan's."""
    for ns, dev in ((host.ns, nic.name), (nic.peer_ns, nic.peer_dev)):
        shaping.remove(ns, dev)
    for other in plan.hosts:
        for end in other.nics:
            if (other.ns, end.name) in ((host.ns, nic.name), (nic.peer_ns, nic.peer_dev)):
                shaping.set_rate(plan, other, end, end.rate_bps)
    if plan.switch_ns:
        ip("link", "set", "dev", f"rail{nic.subnet}", "up", ns=plan.switch_ns)
    ip("link", "set", "dev", nic.name, "up", ns=host.ns)
