"""The six ways in which a rail is lost (issue R1), as changes of a lab."""
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Callable

from labkit import faults
from labkit.plan import Plan


@dataclass(frozen=True)
class Loss:
    what: str
    happen: Callable[[Plan, int, random.Random], None]  # to NIC number n; chance decides on which side where both will do
    outage_s: float  # until it is undone
    returns: bool = True  # there is something to undo


def _at_sender(plan: Plan, nic: int, _: random.Random) -> None:
    faults.take_down(plan.hosts[0], plan.hosts[0].nics[nic])


def _at_receiver(plan: Plan, nic: int, _: random.Random) -> None:
    faults.take_down(plan.hosts[1], plan.hosts[1].nics[nic])


def _in_switch(plan: Plan, nic: int, _: random.Random) -> None:
    faults.take_switch_down(plan, plan.hosts[0].nics[nic])


def _silent(plan: Plan, nic: int, chance: random.Random) -> None:
    host = chance.choice(plan.hosts)
    faults.cut(host.nics[nic])


def _one_way(plan: Plan, nic: int, chance: random.Random) -> None:
    host = chance.choice(plan.hosts)
    faults.cut_out(host.nics[nic])


def _reset(plan: Plan, nic: int, chance: random.Random) -> None:
    host = chance.choice(plan.hosts)
    faults.reset(host, host.nics[nic])


# Outages last longer than the bounds on recovering from them: half a second in the middle where the loss shows at once, 1.5 s
# where only silence does, 3 s at worst for both.
kLosses = {
    "down-sender": Loss("link down at the sender", _at_sender, 3.2),
    "down-receiver": Loss("link down at the receiver", _at_receiver, 3.2),
    "switch": Loss("link down in the switch between", _in_switch, 3.2),
    "silent": Loss("silent drop both ways", _silent, 3.2),
    "one-way": Loss("silent drop one way", _one_way, 3.2),
    "reset": Loss("connections reset", _reset, 0.0, returns=False),
}


def undo(plan: Plan, nic: int) -> None:
    for host in plan.hosts:
        faults.restore(plan, host, host.nics[nic])
