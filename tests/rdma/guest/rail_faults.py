"""Faults of one rail of a lab whose NICs have RDMA devices (perf/lab/vm/guest/rdma_lab), and what undoes each. Runs as
root in the VM, on any host of the lab."""
from __future__ import annotations

import ipaddress
import subprocess
import time
from pathlib import Path
from typing import Callable

from lab import shaping
from lab.iproute import CommandError, ip, tc
from lab.plan import Host, Nic, Plan

kLossPercent = 2
_MAKE_DEVICE = Path(__file__).parents[3] / "perf/lab/vm/guest/rdma_device"
_PATIENCE_S = 20.0
_LOOK_S = 0.1
_GIDS = 8  # entries of a table that are looked at
_NO_GID = ipaddress.IPv6Address(0)


def wait_until(what: str, is_so: Callable[[], object], patience_s: float = _PATIENCE_S) -> float:
    """Waits for a condition. Returns the seconds that it took. Raises AssertionError."""
    began_s = time.monotonic()
    while not is_so():
        if time.monotonic() - began_s > patience_s:
            raise AssertionError(f"not within {patience_s:g} s: {what}")
        time.sleep(_LOOK_S)
    return time.monotonic() - began_s


class Rail:
    """A NIC of a host, with its device."""

    def __init__(self, plan: Plan, host: int, nic: int) -> None:
        self._plan, self.host_number = plan, host
        self.host: Host = plan.hosts[host]
        self.nic: Nic = self.host.nics[nic]
        self.device = f"rxe{host}_{self.nic.name}"
        # Takes the place of the rail's address in the table of GIDs, for a moment.
        self._placeholder = f"10.78.{nic}.{host + 1}/32"

    def __str__(self) -> str:
        return f"{self.nic.name} of host{self.host_number}"

    def take_down(self) -> None:
        ip("link", "set", "dev", self.nic.name, "down", ns=self.host.ns)

    def take_up(self) -> None:
        ip("link", "set", "dev", self.nic.name, "up", ns=self.host.ns)
        self._wait_until_active()

    def remove_gid(self) -> None:
        self._gid_was = self.gid()
        self._address("del", self.nic.addresses[0])
        wait_until(f"{self} loses its GID", lambda: self.gid() is None)

    def add_gid_elsewhere(self) -> None:
        """Gives the rail's address back, so that its GID has another index than before."""
        if is_same := self._gids().index(_NO_GID) == self._gid_was:  # the kernel takes the first free entry
            self._address("add", self._placeholder)
            wait_until("the placeholder has a GID", lambda: self.gid(self._placeholder) is not None)
        self._address("add", self.nic.addresses[0])
        self._wait_until_active()
        if is_same:
            self._address("del", self._placeholder)
        if self.gid() == self._gid_was:
            raise AssertionError(f"{self} has its GID at index {self._gid_was} again, expected another index")

    def remove_device(self) -> None:
        self._in_host("rdma", "link", "del", self.device)

    def add_device(self) -> None:
        self._in_host(str(_MAKE_DEVICE), self.nic.name, self.device)
        self._wait_until_active()

    def lose_packets(self) -> None:
        """Loses packets that the NIC sends. netem takes the place of the NIC's shaper, and so keeps the rate, too."""
        rate = ["rate", f"{self.nic.rate_bps}bit"] if self.nic.rate_bps else []
        tc(self.host.ns, "qdisc", "replace", "dev", self.nic.name, "root", "netem", "limit", "1000", "loss",
           f"{kLossPercent}%", *rate)

    def lost_packets(self) -> int:
        """Returns the number since lose_packets()."""
        shown = tc(self.host.ns, "-s", "qdisc", "show", "dev", self.nic.name)
        return int(shown.partition("dropped ")[2].partition(",")[0])

    def lose_no_packets(self) -> None:
        shaping.restore(self._plan, {(self.nic.carrier_ns, self.nic.carrier_dev)})

    def gid(self, address: str = "") -> int | None:
        """Returns the index of the GID of the rail's address, or of another address with a prefix length."""
        wanted = ipaddress.ip_address("::ffff:" + (address or self.nic.addresses[0]).partition("/")[0])
        gids = self._gids()
        return gids.index(wanted) if wanted in gids else None

    def _gids(self) -> list[ipaddress.IPv6Address]:
        """Returns the first entries of the device's table; none if there is no such device."""
        entries = " ".join(map(str, range(_GIDS)))
        try:
            text = self._in_host("sh", "-c", f"cd /sys/class/infiniband/{self.device}/ports/1/gids && cat {entries}")
        except CommandError:
            return []
        return [ipaddress.IPv6Address(gid) for gid in text.split()]

    def _address(self, change: str, address: str) -> None:
        ip("address", change, address, "dev", self.nic.name, ns=self.host.ns)

    def _wait_until_active(self) -> None:
        state = Path("/sys/class/infiniband") / self.device / "ports/1/state"
        wait_until(f"{self.device} has a GID and is active",
                   lambda: self.gid() is not None and "ACTIVE" in self._in_host("cat", str(state)))

    def _in_host(self, *command: str) -> str:
        done = subprocess.run(["ip", "netns", "exec", self.host.ns, *command], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise CommandError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
        return done.stdout
