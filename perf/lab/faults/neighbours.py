"""Peers that learn another MAC address."""
from __future__ import annotations

import os
import socket
import struct

from ..iproute import CommandError, ip
from ..plan import Host, Nic
from ..sockets import frames_of

_ARP = 0x0806
_BROADCAST = b"\xff" * 6
_HEADER = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)  # Ethernet, IPv4, a request


def flip_arp(host: Host, nic: Nic, other: Nic) -> None:
    """Sends a gratuitous ARP by the host's NIC `other`. Peers at its switch then send packets for `nic`'s address to
    `other`. With `nic` itself as `other`, flips back. An event: only the peers' neighbour entries remain."""
    if ":" in nic.address:
        raise CommandError(f"{nic.name} has no IPv4 address: ARP is IPv4's")
    address = socket.inet_aton(nic.address)
    with frames_of(host.ns, other.name, _ARP) as end:
        mac = end.getsockname()[4]
        end.send(_BROADCAST + mac + _ARP.to_bytes(2, "big") + _HEADER + mac + address + b"\0" * 6 + address)


def change_mac(host: Host, nic: Nic) -> None:
    """Gives the NIC another MAC without announcing it, as a container that is made anew under its old address does. An
    event. Raises CommandError."""
    mac = b"\x02" + os.urandom(5)
    ip("link", "set", "dev", nic.name, "address", mac.hex(":"), ns=host.ns)
