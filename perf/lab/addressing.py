"""Computes the addresses of NICs and their gateways to other subnets. Pure."""
from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from .spec import Spec

_MANAGEMENT_BITS = 16


@dataclass(frozen=True)
class Place:
    """A NIC's addressing in one family."""

    address: str
    prefix_bits: int
    rail: str  # prefix that all of the rail's addresses share
    # Address of the router at the other end, or of the rail's switch. None: no route leads beyond the subnet.
    gateway: str | None

    @property
    def with_prefix(self) -> str:
        return f"{self.address}/{self.prefix_bits}"


def subnet_number(spec: Spec, host: int, nic: int) -> int:
    """Returns the subnet's number. Disjoint: NIC n is in subnet n modulo the smallest number of NICs, so that every NIC
    has a counterpart at every host. Shared: one subnet. Routed: each NIC has its own subnet."""
    if spec.wiring == "routed":
        return nic * spec.hosts + host
    return 0 if spec.subnets == "shared" else nic % min(spec.nics)


def places(spec: Spec, host: int, nic: int) -> list[Place]:
    """Returns the addressing of a NIC: one entry per family of the lab, IPv4 first."""
    families = [6] if spec.ipv6 else [4, 6] if spec.dual_stack else [4]
    return [(_ipv6 if family == 6 else _ipv4)(spec, host, nic) for family in families]


def management(host: int) -> Place:
    """Returns the addressing of a host's management interface."""
    return _place(f"10.76.0.{host + 1}", _MANAGEMENT_BITS, _MANAGEMENT_BITS, "10.76.255.254")


def _number(spec: Spec, host: int, nic: int) -> int:
    """Returns the NIC's number in its disjoint subnet."""
    return 1 + host + spec.hosts * (nic // min(spec.nics))


def _ipv4(spec: Spec, host: int, nic: int) -> Place:
    if spec.wiring == "routed":
        return _place(f"10.{128 + nic}.{host}.2", 24, 16, f"10.{128 + nic}.{host}.1")
    if spec.subnets == "shared":
        return _place(f"10.77.{nic}.{host + 1}", 16, 16, "10.77.255.254" if spec.pods else None)
    subnet = subnet_number(spec, host, nic)
    return _place(f"10.77.{subnet}.{_number(spec, host, nic)}", 24, 24, f"10.77.{subnet}.254" if spec.pods else None)


def _ipv6(spec: Spec, host: int, nic: int) -> Place:
    if spec.wiring == "routed":
        return _place(f"fd77:1:{nic:x}:{host:x}::2", 64, 48, f"fd77:1:{nic:x}:{host:x}::1")
    if spec.subnets == "shared":
        return _place(f"fd77::{nic:x}:{host + 1:x}", 64, 64, "fd77::ffff:fffe" if spec.pods else None)
    subnet = subnet_number(spec, host, nic)
    return _place(f"fd77:0:0:{subnet:x}::{_number(spec, host, nic):x}", 64, 64,
                  f"fd77:0:0:{subnet:x}::fffe" if spec.pods else None)


def _place(address: str, prefix_bits: int, rail_bits: int, gateway: str | None) -> Place:
    rail = ipaddress.ip_interface(f"{address}/{rail_bits}").network
    return Place(str(ipaddress.ip_address(address)), prefix_bits, str(rail), gateway)
