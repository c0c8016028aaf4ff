"""Faults of rails in mid-transfer, over RDMA: no request fails, no byte is wrong, and each rail carries by RDMA again.

net_perf sends both ways between the two hosts of a lab and compares every byte. The seed chooses for each trial the
rail, the host, the moment of the fault and its length. A trial waits until both rails carry by the wire verbs, applies
the fault, undoes the fault, and waits until the rail carries by verbs again. Half of the faults are brief: they are
undone at once. During the others the trial sees the rail's lanes end, and the other rail carry.
The kind `turns` sends one message, within which both rails are lost, one after the other.

Run it by perf/lab/vm/guest/rdma_lab with --management, on two hosts with two NICs each. Host 0 runs everything.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable

_ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(_ROOT / "perf"))

from lab import state  # noqa: E402
from lab.inside import parse_in_lab  # noqa: E402
from rail_faults import Rail, wait_until  # noqa: E402
from transfer import Lane, Transfer  # noqa: E402

_WIRE = "verbs"
_OVER = Path("/tmp/fault-battery-over")  # host 1 waits for this file
_SPREAD_S = 1.0  # a fault comes up to so long after both rails carry, and lasts up to so long
_BRIEF_SHARE = 0.5  # of faults that are undone at once
_CARRIES_BYTES = 200_000  # received
_LOST_PACKETS = 25
_BEGINS_S, _SHOWS_S, _RETURNS_S = 30.0, 30.0, 45.0  # the longest that a trial waits for an event
# Between two faults of a rail: a rail that is lost more often flaps, and backs off for up to 30 s (Backoff::kSteady).
_STEADY_S = 10.5
_USUAL_TRIAL_S, _LONGEST_TRIAL_S = 10.0, 30.0  # for the length of transfers
_TRANSFER_S = 120.0  # the longest transfer, without the longest trial
_MESSAGE_BYTES = 60 << 20  # of `turns`


@dataclass(frozen=True)
class Kind:
    what: str
    happen: Callable[[Rail], None]
    undo: Callable[[Rail], None]
    loses_rail: bool = True  # False: the rail goes on, or comes back while the fault lasts


kKinds = {
    "link": Kind("link down and up", Rail.take_down, Rail.take_up),
    "gid": Kind("GID removed, added again at another index", Rail.remove_gid, Rail.add_gid_elsewhere),
    "device": Kind("rxe removed and added", Rail.remove_device, Rail.add_device),
    "loss": Kind("2 % loss", Rail.lose_packets, Rail.lose_no_packets, loses_rail=False),
    "turns": Kind("two devices fail in turn within one message", Rail.remove_device, Rail.add_device),
}


@dataclass
class Entry:
    """What one trial saw."""

    kind: str
    number: int
    rail: str
    gone_s: float | None = None  # from the fault until both ranks had ended the rail's lanes; None: not waited for
    back_s: float = 0.0  # from the end of the fault until the rail carried by verbs at both ranks
    lanes_lost: int = 0
    packets_lost: int = 0
    warnings: list[str] = field(default_factory=list)


class Battery:
    def __init__(self, args: argparse.Namespace) -> None:
        self._plan, self._args = state.load(os.environ["RWLAB"]), args
        self._program = Path(args.programs) / "net_perf"
        self._environment = {"RAILWEAVE_WIRES": args.wires}
        self._nics = [nic.name for nic in self._plan.hosts[0].nics]
        self._transfer: Transfer | None = None
        self._ends_s = 0.0
        self._steady_at_s: dict[str, float] = {}  # NIC whose lane was lost in this transfer
        self.entries: list[Entry] = []
        self.transfers = self.bytes_checked = 0

    def run(self, kinds: list[str]) -> None:
        """Runs the trials of all kinds in an order drawn from the seed, but for `turns`, whose trials come first."""
        trials = [(kind, number) for kind in kinds for number in range(self._args.trials)]
        random.Random(self._args.seed).shuffle(trials)
        trials.sort(key=lambda trial: trial[0] != "turns")
        for done, (kind, number) in enumerate(trials):
            chance = random.Random(f"{self._args.seed} {kind} {number}")
            if kind == "turns":
                self._take_turns(number, chance)
                continue
            self._prepare(len(trials) - done)
            self._trial(kind, number, Rail(self._plan, chance.randrange(2), chance.randrange(len(self._nics))), chance)
        self.end()

    def end(self) -> None:
        """Waits for the running transfer, which has neither errors nor wrong bytes. Raises AssertionError."""
        if self._transfer:
            transfer, self._transfer = self._transfer, None
            result = transfer.end(max(0.0, self._ends_s - time.monotonic()) + 90.0)
            self.transfers += 1
            self.bytes_checked += result["verify"]["bytes_checked"]

    def _prepare(self, trials: int) -> None:
        """Sees to it that a transfer runs for long enough. `trials`: that are left."""
        if self._transfer and self._ends_s - time.monotonic() < _LONGEST_TRIAL_S:
            self.end()
        if not self._transfer:
            duration_s = _LONGEST_TRIAL_S + min(trials * _USUAL_TRIAL_S, _TRANSFER_S)
            self._begin(["--both", "--comms", "4", "--random-sizes", "0..512K", "--duration", f"{duration_s:g}"])
            self._ends_s = time.monotonic() + duration_s

    def _begin(self, options: list[str]) -> None:
        self._steady_at_s.clear()
        self._transfer = Transfer(self._plan, self._program, options, self._environment)

    def _take_turns(self, number: int, chance: random.Random) -> None:
        """One message in each direction. Both rails are lost before the first of them has ended."""
        self._begin(["--both", "--size", str(_MESSAGE_BYTES), "--bytes", str(_MESSAGE_BYTES), "--inflight", "1"])
        self._ends_s = 0.0
        first = chance.randrange(len(self._nics))
        for nic in (first, 1 - first):
            self._trial("turns", number, Rail(self._plan, chance.randrange(2), nic), chance)
        self.end()

    def _trial(self, name: str, number: int, rail: Rail, chance: random.Random) -> None:
        kind, entry = kKinds[name], Entry(name, number, str(rail))
        transfer, begun = self._transfer, len(self._transfer.warnings())
        try:
            self._wait_for_traffic(self._nics, _BEGINS_S, "both rails carry before the fault")
            time.sleep(max(0.0, self._steady_at_s.get(rail.nic.name, 0.0) - time.monotonic()))
            time.sleep(_SPREAD_S * chance.random())
            lanes = self._ends(rail)
            is_brief = kind.loses_rail and chance.random() < _BRIEF_SHARE
            kind.happen(rail)
            if not is_brief:
                self._see(kind, rail, lanes, entry)
                time.sleep(_SPREAD_S * chance.random())
            if not kind.loses_rail:
                entry.packets_lost = rail.lost_packets()
            kind.undo(rail)
            entry.back_s = self._wait_for_traffic(self._nics, _RETURNS_S, f"{rail} carries after the fault")
            entry.lanes_lost = len(lanes - self._ends(rail))
            self._steady_at_s[rail.nic.name] = time.monotonic() + _STEADY_S
        except AssertionError as failure:
            said = f"{transfer.said()}\n{self._open_lanes()}"
            raise AssertionError(f"{name} {number} on {rail}: {failure}\n{said}") from None
        entry.warnings = transfer.warnings()[begun:]
        self.entries.append(entry)
        lasted = "" if not kind.loses_rail else "brief, " if entry.gone_s is None else f"gone in {entry.gone_s:.1f} s, "
        print(f"{name} {number}: {rail}, {lasted}carries {entry.back_s:.1f} s after the fault, "
              f"{entry.lanes_lost} lane ends and {entry.packets_lost} packets lost", flush=True)

    def _see(self, kind: Kind, rail: Rail, lanes: set, entry: Entry) -> None:
        if kind.loses_rail:
            entry.gone_s = self._wait(f"the lanes of {rail} end", lambda: not lanes & self._ends(rail), _SHOWS_S)
            others = [nic for nic in self._nics if nic != rail.nic.name]
            self._wait_for_traffic(others, _SHOWS_S, "the other rail carries")
        else:
            self._wait("packets are lost", lambda: rail.lost_packets() >= _LOST_PACKETS, _SHOWS_S)
            self._wait_for_traffic(self._nics, _SHOWS_S, "both rails carry in spite of lost packets")

    def _wait(self, what: str, is_so: Callable[[], object], patience_s: float) -> float:
        def is_so_while_running() -> bool:
            if not self._transfer.is_running():
                raise AssertionError(f"the transfer ended before this: {what}")
            return bool(is_so())
        return wait_until(what, is_so_while_running, patience_s)

    def _wait_for_traffic(self, nics: list[str], patience_s: float, what: str) -> float:
        """Waits until both ranks have received more bytes by one lane of verbs on each of these rails."""
        before = self._by_lane()

        def carries(lane: Lane, then: dict[tuple[str, str], Lane]) -> bool:
            received = lane.received - (then[lane.ends].received if lane.ends in then else 0)
            return lane.wire == _WIRE and received >= _CARRIES_BYTES

        def all_carry() -> bool:
            return all(set(nics) <= {lane.rail for lane in now.values() if carries(lane, then)}
                       for now, then in zip(self._by_lane(), before, strict=True))
        return self._wait(what, all_carry, patience_s)

    def _by_lane(self) -> list[dict[tuple[str, str], Lane]]:
        return [{lane.ends: lane for lane in lanes} for lanes in self._transfer.lanes()]

    def _ends(self, rail: Rail) -> set[tuple[int, tuple[str, str]]]:
        """Returns the rank and the ends of each open lane of the rail, at both ranks."""
        return {(rank, lane.ends) for rank, lanes in enumerate(self._transfer.lanes()) for lane in lanes
                if lane.rail == rail.nic.name}

    def _open_lanes(self) -> str:
        return "\n".join(f"open at rank {rank}: {lane}" for rank, lanes in enumerate(self._transfer.lanes())
                         for lane in lanes)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fault_battery", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(kKinds), help="kinds of faults, separated by commas (all)")
    parser.add_argument("--trials", type=int, default=10, help="trials of each kind (10)")
    parser.add_argument("--seed", type=int, default=1, help="of moments, rails and hosts (1)")
    parser.add_argument("--wires", default=_WIRE, help=f"RAILWEAVE_WIRES of both hosts ({_WIRE})")
    parser.add_argument("--programs", default=str(_ROOT / "build" / "release" / "bin"), help="folder of net_perf")
    parser.add_argument("--json", metavar="FILE", help="write what each trial saw to this file")
    args = parse_in_lab(parser)
    if os.environ["RANK"] != "0":
        while not _OVER.exists():
            time.sleep(1)
        return 0
    battery = Battery(args)
    try:
        battery.run(args.kinds.split(","))
    except AssertionError as failure:
        print(f"FAILED (seed {args.seed}): {failure}", flush=True)
        return 1
    finally:
        _OVER.touch()
    if args.json:
        Path(args.json).write_text(json.dumps({"seed": args.seed, "transfers": battery.transfers,
                                               "bytes_checked": battery.bytes_checked,
                                               "what": {name: kind.what for name, kind in kKinds.items()},
                                               "trials": [asdict(entry) for entry in battery.entries]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
