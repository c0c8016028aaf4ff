"""Changes of a NIC's addresses."""
from __future__ import annotations

import ipaddress
import json

from ..iproute import CommandError, ip, ip_batch
from ..plan import Host, Nic


def current(host: Host, nic: Nic, scopes: tuple[str, ...] = ("global", "link")) -> list[str]:
    """Returns the NIC's present addresses without prefix lengths. Raises CommandError."""
    found = json.loads(ip("-json", "address", "show", "dev", nic.name, ns=host.ns))
    return [info["local"] for link in found for info in link.get("addr_info", []) if info["scope"] in scopes]


def replace_addresses(host: Host, nic: Nic, addresses: list[str]) -> None:
    """Replaces all addresses but link-local ones by `addresses` (with prefix lengths), as a new DHCP lease does."""
    for text in addresses:
        try:
            ipaddress.ip_interface(text)
        except ValueError:
            raise CommandError(f"'{text}' is no address with a prefix length, such as 10.79.1.1/24") from None
    ip_batch(host.ns, [f"address flush dev {nic.name} scope global",
                       *(f"address add {text} dev {nic.name}" for text in addresses)])


def restore(host: Host, nic: Nic) -> None:
    """Restores the plan's addresses. IPv6 addresses also disappear with their link."""
    if sorted(current(host, nic, ("global",))) != sorted(text.partition("/")[0] for text in nic.addresses):
        replace_addresses(host, nic, nic.addresses)
