"""A cable of the lab that alters bytes. It replaces the switch of one NIC's subnet.

Usage: bad_cable.py NIC PER_MILLE   (in any host of a lab with two hosts and --shape switch; runs until it is killed)

The cable enters the switch's namespace, takes the two ports off their bridge and carries frames between them. PER_MILLE
of the full segments of TCP payload, in both directions, get one altered byte. TCP's checksum does not reveal the
damage: frames still have the checksum unfilled, as for an offloading NIC. A frame can also hold many segments, the more
the busier the machine is. It counts as the segments that it would be on a wire. Prints "ready", and at the end the
number of altered frames.
"""
from __future__ import annotations

import ctypes
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys

_CLONE_NEWNET = 0x40000000
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING, _SO_RCVBUFFORCE = 263, 15, 23, 33
_VNET_HDR_BYTES, _ETHERNET_BYTES = 10, 14
_ALL_PROTOCOLS = 3
_MUCH_BYTES, _SEGMENT_BYTES = 1000, 1448


def _ports(nic: int) -> tuple[str, list[str]]:
    """Returns the switch's namespace and its ports toward the two hosts."""
    listing = subprocess.run([os.environ["RWLAB_PROGRAM"], "list"], capture_output=True, text=True, check=True).stdout
    nics = [host["nics"][nic] for host in json.loads(listing)[os.environ["RWLAB"]]["plan"]["hosts"]]
    return nics[0]["peer_ns"], [nic["peer_dev"] for nic in nics]


def _enter(namespace: str) -> None:
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def _open(port: str) -> socket.socket:
    subprocess.run(["ip", "link", "set", "dev", port, "nomaster"], check=True)
    subprocess.run(["ip", "link", "set", "dev", port, "promisc", "on"], check=True)
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    end.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
    end.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
    end.bind((port, _ALL_PROTOCOLS))
    return end


def _payload_at(frame: memoryview) -> int | None:
    """Returns the offset of the TCP payload in an IPv4 frame; None: no TCP over IPv4."""
    at = _VNET_HDR_BYTES + _ETHERNET_BYTES
    if len(frame) < at + 40 or frame[at - 2:at] != b"\x08\x00" or frame[at + 9] != socket.IPPROTO_TCP:
        return None
    at += 4 * (frame[at] & 15)
    return at + 4 * (frame[at + 12] >> 4)


class _Cable:
    def __init__(self, per_mille: float) -> None:
        self._intact = 1 - per_mille / 1000  # probability that a segment stays intact
        self.altered = 0
        self._buffer = memoryview(bytearray(1 << 17))

    def carry(self, source: socket.socket, to: socket.socket) -> None:
        n = source.recv_into(self._buffer)
        frame = self._buffer[:n]
        at = _payload_at(frame)
        if at is not None and n - at >= _MUCH_BYTES and random.random() > self._intact ** ((n - at) / _SEGMENT_BYTES):
            frame[random.randrange(at, n)] ^= 1 << random.randrange(8)
            self.altered += 1
        try:
            to.send(frame)
        except OSError:  # no room: the frame is lost, as on any cable
            pass


def main() -> None:
    nic, per_mille = int(sys.argv[1]), float(sys.argv[2])
    namespace, ports = _ports(nic)
    _enter(namespace)
    cable = _Cable(per_mille)
    ends = [_open(port) for port in ports]
    waiting = selectors.DefaultSelector()
    waiting.register(ends[0], selectors.EVENT_READ, ends[1])
    waiting.register(ends[1], selectors.EVENT_READ, ends[0])

    def end(*_: object) -> None:
        print(f"altered {cable.altered}", flush=True)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select():
            cable.carry(key.fileobj, key.data)


if __name__ == "__main__":
    main()
