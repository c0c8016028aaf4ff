"""A router's firewall that forgets its connections; topology.py sets the firewall up."""
from __future__ import annotations

import os
import select
import socket
import struct

from ..iproute import CommandError
from ..plan import Plan
from ..sockets import socket_in

_NETLINK_NETFILTER = 12
_DELETE = 1 << 8 | 2  # of connection tracking; without a connection in the message: all
_REQUEST_WITH_ANSWER = 1 | 4
_HEADER = struct.Struct("=IHHII")  # bytes, kind, flags, sequence number, port
_ANSWER_WITHIN_S = 5.0


def forget_connections(plan: Plan) -> None:
    """Makes the router's firewall forget all connections, as after a restart or with a full table. Packets of existing
    connections then belong to none. An event. Raises CommandError."""
    if not plan.stateful:
        raise CommandError("this lab's router has no firewall (--stateful makes one)")
    body = struct.pack("=BBH", socket.AF_UNSPEC, 0, 0)
    with socket_in(plan.switch_ns, socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as netlink:
        netlink.send(_HEADER.pack(_HEADER.size + len(body), _DELETE, _REQUEST_WITH_ANSWER, 1, 0) + body)
        if not select.select([netlink], [], [], _ANSWER_WITHIN_S)[0]:
            raise CommandError("the kernel did not answer that it forgot its connections")
        error, = struct.unpack_from("=i", netlink.recv(4096), _HEADER.size)
    if error:
        raise CommandError(f"forgetting connections: {os.strerror(-error)}")
