"""Peers that learn another MAC for an address."""
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
    """A gratuitous ARP by the host's NIC `other`: peers at its switch send what is for `nic`'s address there from now
    on. `other` may be `nic` itself, which flips back. An event: nothing is left to undo but what the peers have
    learnt."""
    if ":" in nic.address:
        raise CommandError(f"{nic.name} has no IPv4 address: ARP is IPv4's")
    address = socket.inet_aton(nic.address)
    with frames_of(host.ns, other.name, _ARP) as end:
        mac = end.getsockname()[4]
        end.send(_BROADCAST + mac + _ARP.to_bytes(2, "big") + _HEADER + mac + address + b"\0" * 6 + address)


def change_mac(host: Host, nic: Nic) -> None:
    """The NIC has another MAC, and tells nobody: as a container that is made anew under its old address. An event.
    Raises CommandError."""
    mac = b"\x02" + os.urandom(5)
    ip("link", "set", "dev", nic.name, "address", mac.hex(":"), ns=host.ns)
