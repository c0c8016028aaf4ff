"""Waits until the links are up and carry frames. The kernel reports a link as up about 100 ms after it was made, but
passes packets sooner. A program that looks for running interfaces must not start in between.

The test frames are plain Ethernet, so ARP, routes and filters have no influence on the NIC that receives them."""
from __future__ import annotations

import json
import select
import socket
import time
from dataclasses import dataclass

from .iproute import ip
from .plan import Host, Nic, Plan
from .sockets import frames_of

_ETHERTYPE = 0x88B5  # IEEE 802: for local experiments
_BROADCAST = b"\xff" * 6
_RESEND_S = 0.02


class NotReady(RuntimeError):
    """A rail carried nothing in time. The message names the rail."""


@dataclass
class _Receiver:
    """A NIC, and the other end from which it should receive a frame."""

    label: str
    end: socket.socket
    source: socket.socket


def wait_until_ready(plan: Plan, ipv6: bool, timeout_s: float = 10.0) -> None:
    """Returns once every NIC is up, has received a frame and, with `ipv6`, may use its IPv6 addresses. Raises NotReady,
    CommandError, OSError."""
    _wait_for_frames(plan, timeout_s)
    deadline = time.monotonic() + timeout_s
    for h, host in enumerate(plan.hosts):
        while late := _not_up(host, ipv6):
            if time.monotonic() > deadline:
                raise NotReady(f"host {h}'s {late[0]} did not come up within {timeout_s:g} s")
            time.sleep(_RESEND_S)


def _is_up(link: dict, ipv6: bool) -> bool:
    addresses = [address for address in link.get("addr_info", []) if address.get("family") == "inet6"]
    usable = all("tentative" not in address for address in addresses)
    return link.get("operstate") == "UP" and (not ipv6 or (bool(addresses) and usable))


def _not_up(host: Host, ipv6: bool) -> list[str]:
    links = {link["ifname"]: link for link in json.loads(ip("-json", "address", "show", ns=host.ns))
             if "ifname" in link}
    return [nic.name for nic in host.nics if not _is_up(links.get(nic.name, {}), ipv6)]


def _other_end(nic: Nic, plan: Plan) -> tuple[str, str]:
    """Returns another NIC at the same switch, so that the test covers forwarding; else the other end of the NIC's
    cable."""
    for host in plan.hosts:
        for other in host.nics:
            if other is not nic and nic.bridge and other.bridge == nic.bridge:
                return host.ns, other.name
    return nic.peer_ns, nic.peer_dev


def _frame(source: socket.socket) -> bytes:
    return _BROADCAST + source.getsockname()[4] + _ETHERTYPE.to_bytes(2, "big") + b"railweave lab".ljust(46, b"\0")


def _receivers(plan: Plan, ends: dict[tuple[str, str], socket.socket]) -> list[_Receiver]:
    """Adds every opened socket to `ends`. The caller closes them."""
    def end(place: tuple[str, str]) -> socket.socket:
        if place not in ends:
            ends[place] = frames_of(*place, _ETHERTYPE)
        return ends[place]

    return [_Receiver(f"host {h}'s {nic.name} ({nic.address})", end((host.ns, nic.name)), end(_other_end(nic, plan)))
            for h, host in enumerate(plan.hosts) for nic in host.nics]


def _wait_for_frames(plan: Plan, timeout_s: float) -> None:
    ends: dict[tuple[str, str], socket.socket] = {}
    try:
        waiting = {receiver.end: receiver for receiver in _receivers(plan, ends)}
        deadline = time.monotonic() + timeout_s
        while waiting:
            if time.monotonic() > deadline:
                raise NotReady(f"{next(iter(waiting.values())).label} received nothing within {timeout_s:g} s")
            for receiver in waiting.values():
                try:
                    receiver.source.send(_frame(receiver.source))
                except OSError:
                    pass  # not up yet
            for readable in select.select(list(waiting), [], [], _RESEND_S)[0]:
                try:
                    readable.recv(64)
                except OSError:
                    continue  # the link went down and came up
                waiting.pop(readable)
    finally:
        for end in ends.values():
            end.close()
