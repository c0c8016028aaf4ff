"""From a Spec to names and addresses: which namespaces, which NIC in which subnet. Pure; stable for one (spec, name)."""
from __future__ import annotations

import ipaddress
from dataclasses import asdict, dataclass

from .spec import Spec


@dataclass
class Nic:
    """One NIC of one host and the place of its shaper."""

    name: str  # inside the host's namespace
    address: str
    prefix_bits: int
    subnet: int  # number of the bridge, or of the direct cable
    rate_bps: int | None
    peer_ns: str  # the other end of the veth pair
    peer_dev: str


@dataclass
class Host:
    ns: str
    nics: list[Nic]


@dataclass
class Plan:
    """Everything `perf/lab set` and the teardown must know; kept as JSON while the lab lives."""

    name: str
    shape: str
    direct: bool
    switch_ns: str | None
    hosts: list[Host]

    def to_json(self) -> dict:
        return asdict(self)

    @staticmethod
    def from_json(data: dict) -> "Plan":
        hosts = [Host(host["ns"], [Nic(**nic) for nic in host["nics"]]) for host in data["hosts"]]
        return Plan(data["name"], data["shape"], data["direct"], data["switch_ns"], hosts)

    def namespaces(self) -> list[str]:
        return [host.ns for host in self.hosts] + ([self.switch_ns] if self.switch_ns else [])

    def subnets(self) -> list[int]:
        return sorted({nic.subnet for host in self.hosts for nic in host.nics})


def _address(spec: Spec, host: int, nic: int) -> tuple[str, int, int]:
    """Address, prefix length and subnet number.

    Disjoint subnets: NIC n is in subnet n modulo the smallest number of NICs, so that every NIC has a counterpart at
    every host. Shared: one subnet for all.
    """
    if spec.subnets == "shared":
        return (f"fd77::{nic:x}:{host + 1:x}", 64, 0) if spec.ipv6 else (f"10.77.{nic}.{host + 1}", 16, 0)
    rails = min(spec.nics)
    subnet = nic % rails
    number = 1 + host + spec.hosts * (nic // rails)
    return (f"fd77:0:0:{subnet:x}::{number:x}", 64, subnet) if spec.ipv6 else (f"10.77.{subnet}.{number}", 24, subnet)


def make_plan(spec: Spec, name: str) -> Plan:
    namespaces = [f"{name}-host{host}" for host in range(spec.hosts)]
    switch_ns = None if spec.direct else f"{name}-switch"
    hosts = []
    for host, ns in enumerate(namespaces):
        nics = []
        for index in range(spec.nics[host]):
            address, bits, subnet = _address(spec, host, index)
            address = str(ipaddress.ip_address(address))
            peer = (switch_ns, f"h{host}n{index}") if switch_ns else (namespaces[1 - host], f"{spec.names[1 - host]}{index}")
            nics.append(Nic(f"{spec.names[host]}{index}", address, bits, subnet, spec.rates_bps[host][index], *peer))
        hosts.append(Host(ns, nics))
    return Plan(name, spec.shape, spec.direct, switch_ns, hosts)
