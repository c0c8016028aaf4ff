"""Turns a Spec into names and addresses: namespaces, and the subnet of each NIC. Pure: one (spec, name) always gives
the same plan."""
from __future__ import annotations

from dataclasses import asdict, dataclass, field

from . import addressing, routes
from .spec import Spec


@dataclass
class Nic:
    """A NIC of a host, the cable that carries its packets, and the places of its shapers."""

    name: str  # inside the host's namespace
    addresses: list[str]  # with prefix lengths; IPv4 first
    subnet: int  # number of the subnet; equal for NICs of a shared subnet
    rate_bps: int | None
    carrier_ns: str  # the host's end of the veth pair: the NIC itself, or a pod's uplink in its node
    carrier_dev: str
    peer_ns: str  # the other end of the veth pair
    peer_dev: str
    bridge: str | None  # bridge of the other end's port; None: a cable, or a router's port
    # Addresses of the router or of the rail's switch, with prefix lengths.
    gateways: list[str] = field(default_factory=list)
    routes: list[str] = field(default_factory=list)  # words for `ip route`, in addition to the subnets' own routes
    rules: list[str] = field(default_factory=list)  # words for `ip rule`

    @property
    def address(self) -> str:
        """The first address, without prefix length."""
        return self.addresses[0].partition("/")[0]

    @property
    def leads_nowhere(self) -> bool:
        return self.bridge is not None and self.bridge.startswith(_NOWHERE)


@dataclass
class Host:
    ns: str
    nics: list[Nic]
    node_ns: str | None = None  # of a pod: namespace of its uplinks
    management: str | None = None  # address of the management interface, with prefix length; None: no such interface
    management_nic: str = ""


@dataclass
class Plan:
    """Everything that `tools/lab set` and the teardown need. Kept as JSON while the lab lives."""

    name: str
    shape: str
    wiring: str
    switch_ns: str | None  # of the switches, or of the router
    hosts: list[Host]
    mtu_bytes: int = 1500
    buffer_bytes: int = 0  # of a shaped port of a switch
    stateful: bool = False  # the router has a firewall
    management_ns: str | None = None  # of the switch between the hosts' management interfaces

    def to_json(self) -> dict:
        return asdict(self)

    @staticmethod
    def from_json(data: dict) -> "Plan":
        hosts = [Host(**{**host, "nics": [Nic(**nic) for nic in host["nics"]]}) for host in data["hosts"]]
        return Plan(**{**data, "hosts": hosts})

    def namespaces(self) -> list[str]:
        others = [*(host.node_ns for host in self.hosts), self.switch_ns, self.management_ns]
        return [host.ns for host in self.hosts] + [ns for ns in others if ns]

    def nics(self) -> list[Nic]:
        return [nic for host in self.hosts for nic in host.nics]

    def bridges(self) -> list[str]:
        return sorted({nic.bridge for nic in self.nics() if nic.bridge})


_NOWHERE = "nowhere"


def _bridge(spec: Spec, host: int, nic: int) -> str | None:
    if (host, nic) in spec.nowhere:
        return f"{_NOWHERE}{host}n{nic}"
    return {"cables": None, "routed": None, "one-switch": "switch0",
            "rails": f"rail{nic % min(spec.nics)}"}[spec.wiring]


def _nic(spec: Spec, namespaces: list[str], switch_ns: str | None, host: int, nic: int) -> Nic:
    places = addressing.places(spec, host, nic)
    name = f"{spec.names[host]}{nic + 1 if spec.pods else nic}"
    carrier = (f"{namespaces[host]}-node", f"uplink{nic}") if spec.pods else (namespaces[host], name)
    peer = (switch_ns, f"h{host}n{nic}") if switch_ns else (namespaces[1 - host], f"{spec.names[1 - host]}{nic}")
    return Nic(name, [place.with_prefix for place in places], addressing.subnet_number(spec, host, nic),
               spec.rates_bps[host][nic], *carrier, *peer, _bridge(spec, host, nic),
               [f"{place.gateway}/{place.prefix_bits}" for place in places if place.gateway],
               routes.nic_routes(spec, nic, name, places), routes.nic_rules(spec, nic, places))


def _host(spec: Spec, ns: str, host: int, nics: list[Nic]) -> Host:
    node_ns = f"{ns}-node" if spec.pods else None
    if not spec.has_management:
        return Host(ns, nics, node_ns)
    return Host(ns, nics, node_ns, addressing.management(host).with_prefix, "eth0" if spec.pods else "mgmt0")


def make_plan(spec: Spec, name: str) -> Plan:
    namespaces = [f"{name}-host{host}" for host in range(spec.hosts)]
    switch_ns = None if spec.wiring == "cables" else f"{name}-switch"
    hosts = [_host(spec, ns, host, [_nic(spec, namespaces, switch_ns, host, nic) for nic in range(spec.nics[host])])
             for host, ns in enumerate(namespaces)]
    return Plan(name, spec.shape, spec.wiring, switch_ns, hosts, spec.mtu_bytes, spec.buffer_bytes, spec.stateful,
                f"{name}-management" if spec.has_management else None)
