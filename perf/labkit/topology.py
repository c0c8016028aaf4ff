"""Makes a plan real: namespaces, cables, bridges, addresses, sysctls, shapers.

Teardown is not here: it must work for a lab of which only half exists, and from another process (guardian.py).
"""
from __future__ import annotations

from . import congestion, shaping
from .iproute import ip, ip_batch, sysctl
from .plan import Host, Plan
from .spec import Spec

# With several NICs in one subnet, Linux by default answers ARP for any of its addresses on any of its NICs.
_STRICT_ARP = {"net/ipv4/conf/all/arp_ignore": "1", "net/ipv4/conf/all/arp_announce": "2"}
_EVERY_HOST = {"net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/default/rp_filter": "0"}


def _cable_lines(plan: Plan) -> list[str]:
    """`ip link` commands for the namespace that owns the cables: the switch, or host 0 when wired directly."""
    ends = [nic for host in plan.hosts for nic in host.nics]
    if plan.switch_ns is None:
        pairs = zip(plan.hosts[0].nics, plan.hosts[1].nics)
        return [f"link add name {a.name} type veth peer name {b.name} netns {plan.hosts[1].ns}" for a, b in pairs]
    lines = [f"link add name rail{subnet} type bridge forward_delay 0" for subnet in plan.subnets()]
    lines += [f"link set dev rail{subnet} up" for subnet in plan.subnets()]
    owners = [host.ns for host in plan.hosts for _ in host.nics]
    for nic, owner in zip(ends, owners):
        lines.append(f"link add name {nic.peer_dev} type veth peer name {nic.name} netns {owner}")
        lines.append(f"link set dev {nic.peer_dev} master rail{nic.subnet} up")
    return lines


def _host_lines(host: Host, spec: Spec) -> list[str]:
    lines = ["link set dev lo up"]
    for nic in host.nics:
        nodad = " nodad" if spec.ipv6 else ""
        lines.append(f"address add {nic.address}/{nic.prefix_bits} dev {nic.name}{nodad}")
        lines.append(f"link set dev {nic.name} mtu {spec.mtu_bytes} up")
    return lines


def _mtu_lines(plan: Plan, spec: Spec) -> list[str]:
    if spec.mtu_bytes == 1500:
        return []
    ports = [nic.peer_dev for host in plan.hosts for nic in host.nics]
    return [f"link set dev {dev} mtu {spec.mtu_bytes}" for dev in [*ports, *(f"rail{s}" for s in plan.subnets())]]


def make_namespaces(plan: Plan) -> None:
    """Raises CommandError; those made so far remain."""
    for ns in plan.namespaces():
        ip("netns", "add", ns)


def build(plan: Plan, spec: Spec) -> None:
    """Fills the namespaces but does not wait for the links (see ready.py). Raises CommandError; what was made remains."""
    owner = plan.switch_ns or plan.hosts[0].ns
    ip_batch(owner, _cable_lines(plan))
    if plan.switch_ns:
        ip_batch(plan.switch_ns, _mtu_lines(plan, spec))
    congestion.allow(spec.cc)
    for host in plan.hosts:
        values = dict(_EVERY_HOST)
        if spec.arp == "strict":
            values.update(_STRICT_ARP)
        values["net/ipv4/tcp_congestion_control"] = spec.cc
        sysctl(host.ns, values)
        ip_batch(host.ns, _host_lines(host, spec))
        for nic in host.nics:
            if nic.rate_bps is not None:
                shaping.set_rate(plan, host, nic, nic.rate_bps)
