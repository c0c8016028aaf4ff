"""Routes that are lost."""
from __future__ import annotations

from .. import routes
from ..iproute import ip_batch
from ..plan import Host, Nic


def _tables(nic: Nic) -> list[str]:
    return ["main", *sorted({rule.rpartition(" ")[2] for rule in nic.rules})]


def lose_routes(host: Host, nic: Nic) -> None:
    """No route is left by the NIC, its own subnet's included; its link and its addresses stay."""
    for family in ("-4", "-6"):
        ip_batch(host.ns, [f"route flush dev {nic.name} table {table}" for table in _tables(nic)], family)


def restore_lines(nic: Nic) -> list[str]:
    """For `ip` in the host: what the lab began with. The kernel restores only the subnet's own when a link comes back."""
    return [f"route replace {words}" for words in [*routes.subnet_routes(nic.name, nic.addresses), *nic.routes]]
