"""Restores a NIC to its state at the lab's start."""
from __future__ import annotations

from .. import shaping
from ..iproute import ip_batch
from ..plan import Host, Nic, Plan
from . import addresses, firewall, links, routes, segments


def restore(plan: Plan, host: Host, nic: Nic) -> None:
    """Restores the NIC, both ends of its cable, its switch, addresses and routes, and the plan's rates."""
    shaping.restore(plan, {(nic.carrier_ns, nic.carrier_dev), (nic.peer_ns, nic.peer_dev)})
    firewall.restore(host, nic)
    segments.restore(plan, nic)
    if plan.switch_ns:
        ip_batch(plan.switch_ns, links.restore_lines(nic))
    ip_batch(host.ns, [f"link set dev {nic.name} up"])
    addresses.restore(host, nic)
    routes.restore(host, nic)
