"""The routes that a lab gives its hosts, as words for `ip route` and `ip rule`. Pure."""
from __future__ import annotations

import ipaddress

from .addressing import Place
from .spec import Spec

_FIRST_METRIC = _FIRST_TABLE = 101


def table_of(nic: int) -> int:
    """Returns the routing table of a NIC, for --routes policy."""
    return _FIRST_TABLE + nic


def nic_routes(spec: Spec, nic: int, name: str, places: list[Place]) -> list[str]:
    """Returns the routes by a NIC in addition to its subnets' (see subnet_routes()). In a pod without a router only the
    first NIC has one."""
    first_only = spec.wiring != "routed" or spec.routes != "metric"
    lines = []
    for place in places:
        if place.gateway is None:
            continue
        default = f"default via {place.gateway} dev {name}"
        if nic == 0 or not first_only:
            lines.append(f"{default} metric {_FIRST_METRIC + nic}")
        if spec.routes == "rail":
            lines.append(f"{place.rail} via {place.gateway} dev {name}")
        if spec.routes == "policy":
            lines.append(f"{_subnet(place)} dev {name} table {table_of(nic)}")
            lines.append(f"{default} table {table_of(nic)}")
    return lines


def nic_rules(spec: Spec, nic: int, places: list[Place]) -> list[str]:
    """Returns the rules of policy routing: packets with the NIC's source address use the NIC's table."""
    return [f"from {place.address} table {table_of(nic)}" for place in places] if spec.routes == "policy" else []


def subnet_routes(name: str, with_prefixes: list[str]) -> list[str]:
    """Returns the routes to a NIC's own subnets, as the kernel adds them with the addresses."""
    lines = []
    for text in with_prefixes:
        interface = ipaddress.ip_interface(text)
        kind = f"proto kernel scope link src {interface.ip}" if interface.version == 4 else "proto kernel metric 256"
        lines.append(f"{interface.network} dev {name} {kind}")
    return lines


def _subnet(place: Place) -> str:
    return str(ipaddress.ip_interface(place.with_prefix).network)
