"""Makes a plan real: namespaces, cables, bridges, routers, addresses, shapers.

The teardown is in guardian.py: it must work for a half-made lab and from another process."""
from __future__ import annotations

from . import addressing, congestion, settings, shaping
from .iproute import ip, ip_batch, nft, sysctl
from .plan import Host, Nic, Plan
from .spec import Spec

_MANAGEMENT_BRIDGE = "management"
# Passes packets that open a connection or belong to one. Drops other TCP packets silently.
_STATEFUL_FIREWALL = """
table inet rwlab_stateful {
 chain forward {
  type filter hook forward priority 0;
  ct state established,related accept
  tcp flags & (syn|ack) == syn accept
  meta l4proto tcp drop
 }
}
"""


def _direct_cable_lines(plan: Plan) -> list[str]:
    """Returns lines for host 0's namespace."""
    pairs = zip(plan.hosts[0].nics, plan.hosts[1].nics)
    return [f"link add name {a.name} type veth peer name {b.name} netns {plan.hosts[1].ns}" for a, b in pairs]


def _bridge_lines(bridges: list[str]) -> list[str]:
    made = [f"link add name {bridge} type bridge forward_delay 0" for bridge in bridges]
    return made + [f"link set dev {bridge} up" for bridge in bridges]


def _port_lines(nic: Nic) -> list[str]:
    """Returns lines for the cable between a host and the switch or router."""
    master = f" master {nic.bridge}" if nic.bridge else ""
    return [f"link add name {nic.peer_dev} type veth peer name {nic.carrier_dev} netns {nic.carrier_ns}",
            f"link set dev {nic.peer_dev}{master} up"]


def _gateway_lines(plan: Plan) -> list[str]:
    """Returns lines for gateway addresses: a router's are on its ports, a pod network's on its switches."""
    places = {(gateway, nic.bridge or nic.peer_dev) for nic in plan.nics() if not nic.leads_nowhere
              for gateway in nic.gateways}
    return [f"address add {gateway} dev {dev}{_nodad(gateway)}" for gateway, dev in sorted(places)]


def _management_lines(plan: Plan) -> list[str]:
    """Returns lines for a switch apart from the rails'. Its own address is the gateway."""
    place = addressing.management(0)
    lines = [*_bridge_lines([_MANAGEMENT_BRIDGE]),
             f"address add {place.gateway}/{place.prefix_bits} dev {_MANAGEMENT_BRIDGE}"]
    for h, host in enumerate(plan.hosts):
        lines.append(f"link add name h{h} type veth peer name {host.management_nic} netns {host.ns}")
        lines.append(f"link set dev h{h} master {_MANAGEMENT_BRIDGE} up")
    return lines


def _mtu_lines(plan: Plan) -> list[str]:
    if plan.mtu_bytes == 1500:
        return []
    return [f"link set dev {dev} mtu {plan.mtu_bytes}"
            for dev in [*(nic.peer_dev for nic in plan.nics()), *plan.bridges()]]


def _nodad(address: str) -> str:
    return " nodad" if ":" in address else ""


def _node_lines(host: Host, mtu_bytes: int) -> list[str]:
    """Returns lines that make a pod's NICs on its node's uplinks, as a CNI plugin does."""
    lines = []
    for nic in host.nics:
        lines.append(f"link set dev {nic.carrier_dev} mtu {mtu_bytes} up")
        lines.append(f"link add link {nic.carrier_dev} name {nic.name} netns {host.ns} type macvlan mode bridge")
    return lines


def _host_lines(host: Host, mtu_bytes: int) -> list[str]:
    lines = ["link set dev lo up"]
    if host.management:
        lines += [f"address add {host.management} dev {host.management_nic}", f"link set dev {host.management_nic} up"]
    if host.node_ns:  # a pod's default route is its cluster's
        lines.append(f"route add default via {addressing.management(0).gateway} dev {host.management_nic}")
    for nic in host.nics:
        lines += [f"address add {address} dev {nic.name}{_nodad(address)}" for address in nic.addresses]
        lines.append(f"link set dev {nic.name} mtu {mtu_bytes} up")
        lines += [f"route add {words}" for words in nic.routes]
    return lines


def _add_rules(host: Host) -> None:
    """Adds the rules of each family separately: `ip rule` does not take the family from the address."""
    rules = [f"rule add {words}" for nic in host.nics for words in nic.rules]
    ip_batch(host.ns, [line for line in rules if ":" not in line])
    ip_batch(host.ns, [line for line in rules if ":" in line], "-6")


def make_namespaces(plan: Plan) -> None:
    """Makes the namespaces. Raises CommandError; namespaces made so far remain."""
    for ns in plan.namespaces():
        ip("netns", "add", ns)


def _set_up_kernels(plan: Plan, spec: Spec) -> None:
    congestion.allow(spec.cc)
    for host in plan.hosts:
        sysctl(host.ns, settings.of_host(spec))
        if host.node_ns:
            sysctl(host.node_ns, settings.of_node())
    if plan.wiring == "routed":
        sysctl(plan.switch_ns, settings.of_router())


def _lay_cables(plan: Plan) -> None:
    if plan.management_ns:
        ip_batch(plan.management_ns, _management_lines(plan))
    if plan.switch_ns is None:
        ip_batch(plan.hosts[0].ns, _direct_cable_lines(plan))
        return
    ports = [line for nic in plan.nics() for line in _port_lines(nic)]
    ip_batch(plan.switch_ns, [*_bridge_lines(plan.bridges()), *ports, *_mtu_lines(plan), *_gateway_lines(plan)])


def _set_up_firewall(plan: Plan) -> None:
    if plan.stateful:
        nft(plan.switch_ns, _STATEFUL_FIREWALL)


def build(plan: Plan, spec: Spec) -> None:
    """Fills the namespaces, but does not wait for the links (see ready.py). Raises CommandError; everything made so far
    remains."""
    _set_up_kernels(plan, spec)
    _lay_cables(plan)
    _set_up_firewall(plan)
    for host in plan.hosts:
        if host.node_ns:
            ip_batch(host.node_ns, _node_lines(host, plan.mtu_bytes))
        ip_batch(host.ns, _host_lines(host, plan.mtu_bytes))
        _add_rules(host)
        for nic in host.nics:
            if nic.rate_bps is not None:
                shaping.set_rate(plan, nic, nic.rate_bps)


def finish(plan: Plan, spec: Spec) -> None:
    """Applies settings for the time after the links are up. Raises CommandError."""
    for host in plan.hosts:
        sysctl(host.ns, settings.once_up(spec, [nic.name for nic in host.nics]))
