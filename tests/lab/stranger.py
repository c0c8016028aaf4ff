"""The last host of a lab, which connects to the others without being a peer of theirs.
Usage: stranger.py scan | silent | half-open

Waits until the others listen, then creates /tmp/$RWLAB-stranger, and prints on one or more lines what it did.
"""
from __future__ import annotations

import os
import random
import resource
import socket
import struct
import sys
import time
from pathlib import Path

_LISTENER = 23000  # listening port of the others (RAILWEAVE_PORTS)
_PORTS = [*range(1, 1024), *range(_LISTENER - 250, _LISTENER + 250)]
# A request of HTTP, the hello of TLS, of SSH, random bytes, and nothing.
_JUNK = [b"GET / HTTP/1.1\r\nHost: example\r\n\r\n", bytes.fromhex("16030100c5010000c10303") + bytes(range(186)),
         b"SSH-2.0-scanner\r\n", random.Random(1).randbytes(4096), b""]
_HERE = Path(f"/tmp/{os.environ['RWLAB']}-stranger")
_SILENT = 4000
_HALF_OPEN = 50_000


def _victims() -> list[str]:
    return [address for host in os.environ["RWLAB_ADDRESSES"].split(";")[:-1] for address in host.split(",")]


def _connected(address: str, port: int) -> socket.socket | None:
    stranger = socket.socket()
    stranger.settimeout(2)
    try:
        stranger.connect((address, port))
        return stranger
    except OSError:
        stranger.close()
        return None


def _wait_for_listeners() -> None:
    for address in _victims():
        while (stranger := _connected(address, _LISTENER)) is None:
            time.sleep(0.05)
        stranger.close()
    _HERE.touch()


def _scan() -> None:
    """Sends each junk to every open port on two connections: one closes at once, the other waits until the peer closes
    it."""
    found, staying = [], []
    for address in _victims():
        for port in _PORTS:
            if (stranger := _connected(address, port)) is None:
                continue
            stranger.close()
            found.append(f"{address}:{port}")
            for junk in _JUNK:
                for stays in (False, True):
                    if (stranger := _connected(address, port)) is None:
                        continue
                    stranger.send(junk)
                    staying.append(stranger) if stays else stranger.close()
    print("found", *found, flush=True)
    print("closed", sum(map(_is_closed, staying)), len(staying), flush=True)


def _is_closed(stranger: socket.socket) -> bool:
    stranger.settimeout(10)  # twice as long as a handshake may take
    try:
        return stranger.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True  # closed by a reset


def _silent() -> None:
    """Opens more connections than may handshake at once, all from one host, and leaves them open for 8 s."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * _SILENT, 2 * _SILENT))
    strangers, until_s = [], time.monotonic() + 8
    while time.monotonic() < until_s and len(strangers) < _SILENT:
        strangers += filter(None, (_connected(address, _LISTENER) for address in _victims()))
    print("opened", len(strangers), flush=True)
    time.sleep(max(0.0, until_s - time.monotonic()))


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def _syn(source: str, port: int, target: str) -> bytes:
    addresses = socket.inet_aton(source) + socket.inet_aton(target)
    header = struct.pack("!HHIIBBHHH", port, _LISTENER, random.getrandbits(32), 0, 5 << 4, 2, 64240, 0, 0)
    checksum = _checksum(addresses + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(header)) + header)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(header), 0, 0, 64, socket.IPPROTO_TCP, 0) + addresses
    return ip + header[:16] + struct.pack("!HH", checksum, 0)


def _half_open() -> None:
    """Sends SYNs from addresses of absent hosts. For each SYN the victim's kernel keeps a half-open connection or sends
    a SYN cookie."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    begin, sent = time.monotonic(), 0
    victims = _victims()
    while time.monotonic() - begin < 6 and sent < _HALF_OPEN:
        target = victims[sent % len(victims)]
        source = f"{target.rpartition('.')[0]}.{random.randrange(100, 250)}"
        try:
            raw.sendto(_syn(source, random.randrange(1024, 65536), target), (target, 0))
            sent += 1
        except OSError:
            time.sleep(0.001)  # the stranger's own send queue is full
    print("sent", sent, flush=True)


if __name__ == "__main__":
    _wait_for_listeners()
    try:
        {"scan": _scan, "silent": _silent, "half-open": _half_open}[sys.argv[1]]()
    finally:
        _HERE.unlink()
