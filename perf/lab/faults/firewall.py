"""Packets dropped by a firewall or a bad cable, by nftables.

`host`: the host's own firewall (hooks input and output). `port`: on the cable, invisible to both hosts; can only drop.
Directions are the host's: `in` is toward the host."""
from __future__ import annotations

from dataclasses import dataclass

from ..iproute import CommandError, nft
from ..plan import Host, Nic, Plan
from .segments import send_one_by_one

_FAMILIES = {"all": "", "ipv4": "meta protocol ip ", "ipv6": "meta protocol ip6 "}
_ACTIONS = {"drop": "drop", "reject": "reject", "reset": "reject with tcp reset"}


@dataclass(frozen=True)
class Rule:
    """The TCP packets to filter, and the action on them."""

    action: str = "drop"  # drop; reject: with ICMP; reset: with a TCP reset to the sender
    direction: str = "both"  # in, out, both
    at: str = "host"  # host, port
    family: str = "all"  # all, ipv4, ipv6
    syn_percent: float | None = None  # percentage of the packets that open a connection; None: every TCP packet

    def matches(self) -> str:
        if self.syn_percent is None:
            return f"{_FAMILIES[self.family]}meta l4proto tcp"
        return (f"{_FAMILIES[self.family]}meta l4proto tcp tcp flags & (syn|ack) == syn "
                f"{_some(self.syn_percent)}").rstrip()


def filter_tcp(host: Host, nic: Nic, rule: Rule) -> None:
    """Filters TCP only: ARP, neighbour discovery and pings pass. Replaces an earlier rule of the NIC. Raises
    CommandError."""
    if rule.at == "port":
        if rule.action != "drop":
            raise CommandError(f"--firewall {rule.action} --at port: a switch can only drop")
        _at_port(nic, rule.direction, f"{rule.matches()} drop")
        return
    # The output rule passes the answers that the input rule sends.
    hooks = {"in": ("input", f'iifname "{nic.name}"'), "out": ("output", f'oifname "{nic.name}" {_no_answer(rule)}')}
    chains = [_chain(f"type filter hook {hook} priority 0;", f"{match} {rule.matches()} {_ACTIONS[rule.action]}", hook)
              for way, (hook, match) in hooks.items() if rule.direction in (way, "both")]
    nft(host.ns, _table("inet", f"rwlab_{nic.name}", chains))


def _no_answer(rule: Rule) -> str:
    return "" if rule.action == "drop" else "tcp flags & rst == 0"


def lose_packets(plan: Plan, nic: Nic, percent: float, direction: str = "both") -> None:
    """Drops each packet with this probability, independently, on the cable. Raises CommandError."""
    send_one_by_one(plan, nic)
    _at_port(nic, direction, f"{_some(percent)}drop")


def lose_flows(nic: Nic, percent: float, direction: str = "both") -> None:
    """Drops all packets of this percentage of TCP connections, chosen by their ports. A router that spreads connections
    over several paths (ECMP), one of which is dead, does the same. Raises CommandError."""
    flow = {"in": "tcp dport . tcp sport", "out": "tcp sport . tcp dport"}  # the host's port first
    some = {way: f"jhash {ports} mod 100000 seed 0x1 < {round(percent * 1000)} drop" for way, ports in flow.items()}
    _at_port(nic, direction, some if percent < 100 else dict.fromkeys(flow, "tcp dport 0-65535 drop"))


def restore(host: Host, nic: Nic) -> None:
    """Removes all rules of the NIC and its cable."""
    rules: dict[str, str] = {}
    for ns, family, name in [(host.ns, "inet", f"rwlab_{nic.name}"),
                             *((ns, "netdev", name) for ns, _, name, _ in _ends(nic))]:
        rules[ns] = rules.get(ns, "") + _no_table(family, name)
    try:
        for ns, text in rules.items():
            nft(ns, text)
    except CommandError as error:
        if "not found" not in str(error):  # without the program nothing was filtered
            raise


def _some(percent: float) -> str:
    return f"numgen random mod 100000 < {round(percent * 1000)} " if percent < 100 else ""


def _ends(nic: Nic) -> list[tuple[str, str, str, str]]:
    """Returns for each end where the cable's packets arrive: namespace, device, our table's name there, and the
    packets' direction as the host sees them. The ends of a direct cable are NICs of both hosts; the names tell their
    tables apart."""
    return [(nic.carrier_ns, nic.carrier_dev, f"rwlab_in_{nic.carrier_dev}", "in"),
            (nic.peer_ns, nic.peer_dev, f"rwlab_out_{nic.peer_dev}", "out")]


def _at_port(nic: Nic, direction: str, rules: str | dict[str, str]) -> None:
    """`rules`: one rule, or one for each direction."""
    for ns, dev, name, way in _ends(nic):
        rule = rules if isinstance(rules, str) else rules[way]
        chains = []
        if direction in (way, "both"):
            chains.append(_chain(f'type filter hook ingress device "{dev}" priority 0;', rule, "came_in"))
        nft(ns, _table("netdev", name, chains))


def _chain(hook: str, rule: str, name: str) -> str:
    return f" chain {name} {{\n  {hook}\n  {rule}\n }}\n"


def _no_table(family: str, name: str) -> str:
    return f"table {family} {name}\ndelete table {family} {name}\n"


def _table(family: str, name: str, chains: list[str]) -> str:
    body = "".join(chains)
    return _no_table(family, name) + (f"table {family} {name} {{\n{body}}}\n" if body else "")
