"""Faults of a NIC in mid-traffic. Each file has one mechanism; each function changes a running lab at once.

All functions raise CommandError. restore() undoes all faults but four that are events: reset(), flip_arp(),
change_mac() and forget_connections()."""
from __future__ import annotations

from .addresses import replace_addresses
from .connections import reset
from .firewall import Rule, filter_tcp, lose_flows, lose_packets
from .links import cut, cut_out, take_down, take_port_down, take_switch_down
from .neighbours import change_mac, flip_arp
from .restore import restore
from .routes import lose_routes
from .segments import shrink_port_mtu
from .stateful_firewall import forget_connections

__all__ = ["Rule", "change_mac", "cut", "cut_out", "filter_tcp", "flip_arp", "forget_connections", "lose_flows",
           "lose_packets", "lose_routes", "replace_addresses", "reset", "restore", "shrink_port_mtu", "take_down",
           "take_port_down", "take_switch_down"]
