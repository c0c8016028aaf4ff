"""A lab that runs while a test changes it and inspects its NICs from outside."""
from __future__ import annotations

import json
import select
import signal
import socket
import subprocess
import time

import support
from lab import state
from lab.plan import Host, Nic, Plan
from lab.sockets import socket_in

_UP_WITHIN_S = 20.0
_LIFE_S = 90  # a lab that the test does not end lives for this long
_PIECE = bytes(64 << 10)


class OpenLab:
    """A context manager that runs a lab made with these options. The ranks sleep."""

    def __init__(self, *options: str) -> None:
        self._options = options
        self.plan: Plan

    def __enter__(self) -> "OpenLab":
        command = ["--timeout", str(_LIFE_S), *self._options, "--", "sh", "-c", "echo $RWLAB; exec sleep 100"]
        self._running = support.start("run", *command)
        ready = select.select([self._running.stdout], [], [], _UP_WITHIN_S)[0]
        line = self._running.stdout.readline() if ready else ""
        if not line:
            self.__exit__()
            raise AssertionError(f"no lab: {self._options}")
        self.plan = state.load(line.split()[-1])
        return self

    def __exit__(self, *_: object) -> None:
        self._running.send_signal(signal.SIGTERM)
        self._running.communicate(timeout=30)

    def nic(self, host: int, nic: int) -> tuple[Host, Nic]:
        return self.plan.hosts[host], self.plan.hosts[host].nics[nic]

    def run(self, host: int, *argv: str) -> str:
        """Runs a command in a host and returns its stdout."""
        return subprocess.run(["ip", "netns", "exec", self.plan.hosts[host].ns, *argv], capture_output=True, text=True,
                              check=True, timeout=20).stdout

    def link(self, host: int, nic: int) -> dict:
        """Returns what `ip` reports of the NIC."""
        return json.loads(self.run(host, "ip", "-json", "-details", "-stats", "link", "show", "dev",
                                   self.nic(host, nic)[1].name))[0]

    def bytes_in(self, host: int, nic: int) -> int:
        return self.link(host, nic)["stats64"]["rx"]["bytes"]

    def _end(self, host: int, nic: int, address: str) -> socket.socket:
        where, device = self.nic(host, nic)
        end = socket_in(where.ns, socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.name.encode())
        end.bind((address, 0))
        return end

    def listen(self, host: int, nic: int, which: int = 0) -> socket.socket:
        """Returns a listener at address number `which` of the NIC, reachable by any interface."""
        where, device = self.nic(host, nic)
        address = device.addresses[which].partition("/")[0]
        end = socket_in(where.ns, socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            end.bind((address, 0))
        except OSError:
            end.close()
            raise
        end.listen(64)
        return end

    def dial(self, nic: int, to: socket.socket, within_s: float = 1.5, which: int = 0) -> tuple[str, socket.socket]:
        """Connects from host 0, bound to its NIC. Returns "connected", "refused", "silent" or "no route", and the
        socket."""
        end = self._end(0, nic, self.nic(0, nic)[1].addresses[which].partition("/")[0])
        try:
            end.connect(to.getsockname()[:2])
        except BlockingIOError:
            pass
        except OSError:
            return "no route", end
        if not select.select([], [end], [], within_s)[1]:
            return "silent", end
        error = end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return {0: "connected", 111: "refused"}.get(error, "no route"), end

    def reaches(self, nic: int, peer_nic: int, within_s: float = 1.5, which: int = 0) -> str:
        """Returns the result of dial() from host 0 to host 1, or "no address" if host 1 lost the address."""
        try:
            listener = self.listen(1, peer_nic, which)
        except OSError:
            return "no address"
        with listener:
            said, end = self.dial(nic, listener, within_s, which)
            end.close()
            return said

    def carries(self, nic: int, peer_nic: int, total: int = 400_000, within_s: float = 2.0) -> int:
        """Returns how many of `total` bytes a new connection from host 0 brings to host 1 in time."""
        with self.listen(1, peer_nic) as listener:
            said, sender = self.dial(nic, listener, within_s)
            with sender:
                if said != "connected":
                    return 0
                if not select.select([listener], [], [], within_s)[0]:
                    return 0
                receiver, _ = listener.accept()
                with receiver:
                    return pump(sender, receiver, total, within_s)


def pump(sender: socket.socket, receiver: socket.socket, total: int, within_s: float) -> int:
    """Returns how many of `total` bytes arrive in time."""
    sender.setblocking(False)
    receiver.setblocking(False)
    sent = received = 0
    deadline = time.monotonic() + within_s
    while received < total and time.monotonic() < deadline:
        readable, writable, _ = select.select([receiver], [sender] if sent < total else [], [], 0.1)
        if writable:
            sent += sender.send(_PIECE[:total - sent])
        if readable:
            received += len(receiver.recv(1 << 18))
    return received


def sysctl(lab: OpenLab, host: int, name: str) -> str:
    return lab.run(host, "cat", f"/proc/sys/{name}").strip()
