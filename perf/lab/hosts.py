"""The places of ranks and their environment: in namespaces, or side by side on this machine (loopback)."""
from __future__ import annotations

import os
import random
import socket
from pathlib import Path

from .iproute import CommandError
from .plan import Plan
from .ranks import Rank

_MASTER_PORT = 29500
_LOWEST_PORT = 10000
_PORTS = 64
_PROGRAM = str(Path(__file__).resolve().parents[2] / "tools" / "lab")


def _rank_environment(rank: int, world: int, local: int, per_host: int) -> dict[str, str]:
    return {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(per_host)}


def _label(host: int, local: int, per_host: int) -> str:
    return f"host{host}" if per_host == 1 else f"host{host}.{local}"


def _enter(ns: str, hostname: str, own_pids: bool) -> list[str]:
    """Returns the command that enters a namespace. `ip netns exec` also remounts /sys, so that /sys/class/net shows the
    namespace. Each host has its own host name."""
    unshare = ["unshare", "--uts"] + (["--pid", "--fork", "--kill-child", "--mount-proc"] if own_pids else [])
    script = 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"'
    return ["ip", "netns", "exec", ns, *unshare, "sh", "-c", script, hostname]


def namespace_ranks(plan: Plan, command: list[str], per_host: int, own_pids: bool) -> list[Rank]:
    """Returns one rank per host and local rank, in rank order."""
    addresses = [",".join(nic.address for nic in host.nics) for host in plan.hosts]
    master = (plan.hosts[0].management or plan.hosts[0].nics[0].address).partition("/")[0]
    ranks = []
    for h, host in enumerate(plan.hosts):
        nics = ",".join(nic.name for nic in host.nics)
        for local in range(per_host):
            environment = {
                **_rank_environment(h * per_host + local, len(plan.hosts) * per_host, local, per_host),
                "MASTER_ADDR": master,
                "MASTER_PORT": str(_MASTER_PORT),
                "NCCL_SOCKET_IFNAME": f"={nics}",
                "RWLAB": plan.name,
                "RWLAB_PROGRAM": _PROGRAM,
                "RWLAB_NICS": nics,
                "RWLAB_ADDRESSES": ";".join(addresses),
            }
            argv = [*_enter(host.ns, f"host{h}", own_pids), *command]
            ranks.append(Rank(argv, environment, _label(h, local, per_host)))
    return ranks


def loopback_ranks(name: str, hosts: int, command: list[str], per_host: int, cc: str) -> list[Rank]:
    """Returns ranks that all run on this machine; host h is 127.0.h.1 of `lo`. `cc` takes effect only through the
    plugin's own variable."""
    addresses = [f"127.0.{host}.1" for host in range(hosts)]
    port = _free_ports(addresses[0])
    ranks = []
    for h in range(hosts):
        for local in range(per_host):
            environment = {
                **_rank_environment(h * per_host + local, hosts * per_host, local, per_host),
                "MASTER_ADDR": addresses[0],
                "MASTER_PORT": str(port),
                "NCCL_SOCKET_IFNAME": "=lo",
                "RAILWEAVE_TCP_CONGESTION": os.environ.get("RAILWEAVE_TCP_CONGESTION", cc),
                "RWLAB": name,
                "RWLAB_PROGRAM": _PROGRAM,
                "RWLAB_NICS": "lo",
                "RWLAB_ADDRESSES": ";".join(addresses),
            }
            ranks.append(Rank(command, environment, _label(h, local, per_host)))
    return ranks


def _free_ports(address: str) -> int:
    """Returns the first of a run of free ports, one for each step of a measurement.

    The ports are below those of outgoing connections. A port of an outgoing connection that closed a moment ago would
    be unusable for a step's store for a minute."""
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(100):
        port = random.randrange(_LOWEST_PORT, max(first_outgoing, _LOWEST_PORT + 2 * _PORTS) - _PORTS)
        if all(_is_free(address, port + n) for n in range(_PORTS)):
            return port
    raise CommandError(f"no {_PORTS} free ports in a row on {address} between {_LOWEST_PORT} and {first_outgoing}")


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
