"""Rank 1 streams bytes to rank 0 over the NICs given; rank 0 prints Mb/s per NIC: every half second, and at the end.

Usage: traffic.py SECONDS NIC [NIC ...]   (NIC numbers; both ranks get the same)
"""
from __future__ import annotations

import os
import selectors
import socket
import sys
import time

_PORT = 6100
_CHUNK = 256 * 1024


def _addresses() -> list[list[str]]:
    return [host.split(",") for host in os.environ["RWLAB_ADDRESSES"].split(";")]


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _receive(seconds: float, nics: list[int]) -> None:
    listeners = []
    for nic in nics:
        address = _addresses()[0][nic]
        listener = socket.socket(_family(address))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, _PORT))
        listener.listen()
        listeners.append(listener)
    wanted = selectors.DefaultSelector()
    received = {nic: 0 for nic in nics}
    for nic, listener in zip(nics, listeners):
        connection, _ = listener.accept()
        wanted.register(connection, selectors.EVENT_READ, nic)
    start = shown_at = time.monotonic()
    at_last_show = dict(received)
    while (now := time.monotonic()) < start + seconds:
        for key, _ in wanted.select(0.1):
            received[key.data] += len(key.fileobj.recv(_CHUNK))  # type: ignore[union-attr]
        if now - shown_at >= 0.5:
            rates = [(received[nic] - at_last_show[nic]) * 8e-6 / (now - shown_at) for nic in nics]
            print("interval", *(f"{rate:.1f}" for rate in rates), flush=True)
            shown_at, at_last_show = now, dict(received)
    elapsed = time.monotonic() - start
    print("total", *(f"{received[nic] * 8e-6 / elapsed:.1f}" for nic in nics), flush=True)


def _send(nics: list[int]) -> None:
    theirs, ours = _addresses()[:2]
    wanted = selectors.DefaultSelector()
    for nic in nics:
        connection = socket.socket(_family(ours[nic]))
        connection.bind((ours[nic], 0))
        for _ in range(250):
            try:
                connection.connect((theirs[nic], _PORT))
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        connection.setblocking(False)
        wanted.register(connection, selectors.EVENT_WRITE)
    payload = bytes(_CHUNK)
    try:
        while True:
            for key, _ in wanted.select():
                key.fileobj.send(payload)  # type: ignore[union-attr]
    except (ConnectionResetError, BrokenPipeError):
        pass  # the receiver ended after SECONDS


if __name__ == "__main__":
    chosen = [int(nic) for nic in sys.argv[2:]]
    if os.environ["RANK"] == "0":
        _receive(float(sys.argv[1]), chosen)
    elif os.environ["RANK"] == "1":
        _send(chosen)
