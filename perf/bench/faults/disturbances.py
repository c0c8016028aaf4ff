"""Rails that fail, return and slow down at random, one at a time, while something runs."""
from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field

from lab import shaping
from lab.plan import Plan

from . import losses

_STEADY_S, _DISTURBED_S = (1.0, 4.0), (0.5, 5.0)  # least and most
_SLOW = "slow"
_TIMES_SLOWER = (5, 20, 100)
# Excludes the switch, which rails may share, and mtu-hole, which needs a lab with larger packets.
kKinds = sorted({*losses.kLosses, _SLOW} - {"switch", "mtu-hole"})


@dataclass(frozen=True)
class Disturbance:
    kind: str
    host: int
    nic: int
    steady_s: float  # before the disturbance
    lasts_s: float
    times_slower: int

    def happen(self, plan: Plan) -> None:
        host = plan.hosts[self.host]
        nic = host.nics[self.nic]
        if self.kind == _SLOW:
            shaping.set_rate(plan, nic, nic.rate_bps // self.times_slower)
        else:
            losses.kLosses[self.kind].happen(plan, host, nic)


def drawn(chance: random.Random) -> Disturbance:
    """Draws a disturbance. ARP always flips from another NIC to the first."""
    kind, host, nic = chance.choice(kKinds), chance.choice((0, 1)), chance.choice((0, 1))
    loss = losses.kLosses.get(kind)
    return Disturbance(kind, host if loss is None or loss.at is None else loss.at, 1 if kind == "arp-flip" else nic,
                       chance.uniform(*_STEADY_S), chance.uniform(*_DISTURBED_S), chance.choice(_TIMES_SLOWER))


@dataclass
class Disturber:
    """Disturbs between start() and stop(), in its own thread. `happened` is complete after stop()."""

    plan: Plan
    seed: int
    happened: list[Disturbance] = field(default_factory=list)
    failure: BaseException | None = None  # raised by a change of the lab
    _ends: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Returns when every rail works again. Raises the exception of a failed change of the lab."""
        self._ends.set()
        self._thread.join()
        if self.failure:
            raise self.failure

    def _run(self) -> None:
        chance = random.Random(self.seed)
        try:
            while not self._ends.wait((next_one := drawn(chance)).steady_s):
                next_one.happen(self.plan)
                self.happened.append(next_one)
                self._ends.wait(next_one.lasts_s)
                losses.undo(self.plan, next_one.nic)
        except BaseException as failure:  # raised by stop(), in the thread that trains
            self.failure = failure
