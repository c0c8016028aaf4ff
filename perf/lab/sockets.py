"""Sockets in other network namespaces."""
from __future__ import annotations

import ctypes
import os
import socket
import threading

_CLONE_NEWNET = 0x40000000


def socket_in(ns: str, family: int, kind: int, protocol: int = 0) -> socket.socket:
    """Returns a non-blocking socket of another network namespace. A thread enters the namespace, opens the socket and
    ends. Raises OSError."""
    made: list[socket.socket | OSError] = []

    def enter_and_open() -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            fd = os.open(f"/run/netns/{ns}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                if libc.setns(fd, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns {ns}")
            finally:
                os.close(fd)
            made.append(socket.socket(family, kind | socket.SOCK_NONBLOCK, protocol))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter_and_open)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def frames_of(ns: str, device: str, ethertype: int) -> socket.socket:
    """Returns a socket that sends frames by a device and receives the device's frames of this type. Raises OSError."""
    end = socket_in(ns, socket.AF_PACKET, socket.SOCK_RAW)
    end.bind((device, ethertype))
    return end
