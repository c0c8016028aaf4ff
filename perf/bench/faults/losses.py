"""Ways in which a rail is lost, as changes of a lab: the six of R1, and failures of hosts, switches and firewalls
outside of labs."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from lab import faults
from lab.faults.firewall import Rule
from lab.plan import Host, Nic, Plan

Happen = Callable[[Plan, Host, Nic], None]


@dataclass(frozen=True)
class Loss:
    what: str
    happen: Happen  # applied to one NIC of a host
    is_visible: bool  # a lost carrier or a reset reveals the loss; False: only silence does
    at: int | None = None  # the host; None: any
    outage_s: float = 3.2  # time until the loss is undone
    returns: bool = True  # False: nothing to undo
    lab: tuple[str, ...] = ()  # lab options that the fault needs


def _down(plan: Plan, host: Host, nic: Nic) -> None:
    faults.take_down(host, nic)


def _other_address(plan: Plan, host: Host, nic: Nic) -> None:
    faults.replace_addresses(host, nic, [f"10.79.{plan.hosts.index(host)}.{1 + host.nics.index(nic)}/24"])


def _flip_arp(plan: Plan, host: Host, nic: Nic) -> None:
    faults.flip_arp(host, nic, host.nics[0])


def _firewall(action: str, direction: str = "both", at: str = "host") -> Happen:
    return lambda plan, host, nic: faults.filter_tcp(host, nic, Rule(action=action, direction=direction, at=at))


# Segments as large as the hosts' own MTU are lost. A large MTU keeps the cost of sending packets one by one low.
_LARGE_PACKETS = ("--mtu", "9000")
_SMALL_MTU_BYTES = 1500

# Outages last longer than R1's bounds on the recovery: a median of 0.5 s if the loss shows at once, 1.5 s if only
# silence shows the loss, and 3 s at worst for both.
kLosses = {
    "down-sender": Loss("link down at the sender", _down, is_visible=True, at=0),
    "down-receiver": Loss("link down at the receiver", _down, is_visible=True, at=1),
    "switch": Loss("link down in the switch between", lambda plan, host, nic: faults.take_switch_down(plan, nic),
                   is_visible=False, at=0),
    "silent": Loss("silent drop both ways", lambda plan, host, nic: faults.cut(nic), is_visible=False),
    "one-way": Loss("silent drop one way", lambda plan, host, nic: faults.cut_out(nic), is_visible=False),
    "reset": Loss("connections reset", lambda plan, host, nic: faults.reset(host, nic), is_visible=True, outage_s=0.0,
                  returns=False),
    "port-down": Loss("port down at the switch", lambda plan, host, nic: faults.take_port_down(plan, nic),
                      is_visible=True),
    "routes-lost": Loss("routes lost", lambda plan, host, nic: faults.lose_routes(host, nic), is_visible=False),
    "address-lost": Loss("address replaced", _other_address, is_visible=False),
    "mtu-hole": Loss("large packets lost", lambda plan, host, nic: faults.shrink_port_mtu(plan, nic, _SMALL_MTU_BYTES),
                     is_visible=False, lab=_LARGE_PACKETS),
    "firewall-drop": Loss("TCP dropped by a firewall", _firewall("drop"), is_visible=False),
    "firewall-one-way": Loss("TCP dropped one way, on the cable", _firewall("drop", "in", "port"), is_visible=False),
    "firewall-reject": Loss("TCP rejected by ICMP", _firewall("reject"), is_visible=False),
    "firewall-reset": Loss("TCP reset by a firewall", _firewall("reset"), is_visible=True),
    "arp-flip": Loss("ARP entry flipped to another NIC", _flip_arp, is_visible=False),
}
kOfR1 = ("down-sender", "down-receiver", "switch", "silent", "one-way", "reset")


def undo(plan: Plan, nic: int) -> None:
    """Undoes whatever remains of any of these losses, at all hosts that have such a NIC."""
    for host in (host for host in plan.hosts if nic < len(host.nics)):
        faults.restore(plan, host, host.nics[nic])
        if ":" not in host.nics[nic].address and plan.wiring in ("rails", "one-switch"):
            faults.flip_arp(host, host.nics[nic], host.nics[nic])
