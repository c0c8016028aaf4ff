"""Aborted connections."""
from __future__ import annotations

from ..iproute import ss
from ..plan import Host, Nic
from .addresses import current


def reset(host: Host, nic: Nic) -> None:
    """Aborts every TCP connection of the NIC's addresses at this host, link-local ones included. The other ends get a
    RST."""
    sources = " or ".join(f"src [{address}]" if ":" in address else f"src {address}" for address in current(host, nic))
    if sources:
        ss(host.ns, "--kill", "--tcp", "state", "established", f"( {sources} )")
