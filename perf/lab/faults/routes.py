"""Lost routes."""
from __future__ import annotations

import json

from .. import routes
from ..iproute import CommandError, ip, ip_batch
from ..plan import Host, Nic


def _tables(nic: Nic) -> list[str]:
    return ["main", *sorted({rule.rpartition(" ")[2] for rule in nic.rules})]


def lose_routes(host: Host, nic: Nic) -> None:
    """Removes all routes by the NIC, its own subnet's included. The link and its addresses stay."""
    for family in ("-4", "-6"):
        ip_batch(host.ns, [f"route flush dev {nic.name} table {table}" for table in _tables(nic)], family)


def restore(host: Host, nic: Nic) -> None:
    """Restores the routes of the lab's start; a link that comes back restores only its subnets' routes. NICs of one
    subnet each have a route to the same prefix. A missing route is appended behind the others, as the kernel does.
    Raises CommandError."""
    wanted = [*routes.subnet_routes(nic.name, nic.addresses), *nic.routes]
    ip_batch(host.ns, [f"route append {words}" for words in wanted if not _is_there(host, nic, words)])


def _is_there(host: Host, nic: Nic, words: str) -> bool:
    """`words`: "PREFIX ... [table TABLE]"."""
    prefix, table = words.split()[0], words.partition(" table ")[2] or "main"
    family = "-6" if ":" in words else "-4"
    try:
        found = ip("-json", family, "route", "show", "table", table, "dev", nic.name, ns=host.ns)
    except CommandError as error:
        if "does not exist" not in str(error):  # the first route of a table makes the table
            raise
        return False
    return any(route["dst"] == prefix for route in json.loads(found or "[]"))
