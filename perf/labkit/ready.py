"""Waits until the links are up and carry traffic. The kernel says so only about 100 ms after they are made, while packets
pass sooner: a program that looks for running interfaces must not be started between the two."""
from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import threading
import time

from .iproute import ip
from .plan import Host, Plan

_CLONE_NEWNET = 0x40000000
_PORT = 9  # discard
_RESEND_S = 0.02


class NotReady(RuntimeError):
    """A rail carried nothing in time; the message names it."""


def socket_in(ns: str, family: int, kind: int) -> socket.socket:
    """A socket of another network namespace: a thread enters it, opens the socket and ends. Raises OSError."""
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
            made.append(socket.socket(family, kind | socket.SOCK_NONBLOCK))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter_and_open)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def _open_end(ns: str, device: str, address: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    end = socket_in(ns, family, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    end.bind((address, _PORT))
    return end


def _links_not_up(host: Host) -> list[str]:
    links = {link["ifname"]: link["operstate"] for link in json.loads(ip("-json", "link", "show", ns=host.ns))}
    return [nic.name for nic in host.nics if links.get(nic.name) != "UP"]


def wait_until_ready(plan: Plan, timeout_s: float = 10.0) -> None:
    """Returns once every NIC is up and has heard a packet. Raises NotReady, CommandError, OSError."""
    _wait_for_traffic(plan, timeout_s)
    deadline = time.monotonic() + timeout_s
    for h, host in enumerate(plan.hosts):
        while down := _links_not_up(host):
            if time.monotonic() > deadline:
                raise NotReady(f"host {h}'s {down[0]} did not come up within {timeout_s:g} s")
            time.sleep(_RESEND_S)


def _wait_for_traffic(plan: Plan, timeout_s: float) -> None:
    """Sends datagrams from host 0 to a NIC in the same subnet of every other host, for every NIC."""
    ends = {(h, nic.name): _open_end(host.ns, nic.name, nic.address) for h, host in enumerate(plan.hosts) for nic in host.nics}
    try:
        sources = {nic.subnet: ends[(0, nic.name)] for nic in reversed(plan.hosts[0].nics)}
        waiting = {
            ends[(h, nic.name)]: (sources[nic.subnet], nic, h)
            for h, host in enumerate(plan.hosts) if h > 0 for nic in host.nics
        }
        # Host 0's other NICs of a shared subnet are reached from host 1.
        if len(plan.hosts) > 1:
            back = {nic.subnet: ends[(1, nic.name)] for nic in reversed(plan.hosts[1].nics)}
            waiting.update({ends[(0, nic.name)]: (back[nic.subnet], nic, 0) for nic in plan.hosts[0].nics})
        deadline = time.monotonic() + timeout_s
        while waiting:
            if time.monotonic() > deadline:
                _, nic, host = next(iter(waiting.values()))
                raise NotReady(f"host {host}'s {nic.name} ({nic.address}) heard nothing within {timeout_s:g} s")
            for source, nic, _ in waiting.values():
                try:
                    source.sendto(b"railweave lab", (nic.address, _PORT))
                except OSError:
                    pass  # not up yet
            for heard in select.select(list(waiting), [], [], _RESEND_S)[0]:
                heard.recv(64)
                waiting.pop(heard)
    finally:
        for end in ends.values():
            end.close()
