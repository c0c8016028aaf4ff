"""Measures how senders that come and go share one host's NIC.

Senders join one after the other; with --leave some leave and come back. The program measures how much host 0 receives
from all of them, and how evenly. With --ping it also measures the round trip of a small message of another pair beside
them. Host 0 receives, the last host has the sender of --ping, and the hosts between have the senders. Each sender is a
net_perf or raw_tcp process with a receiver process of its own on host 0. Run it by tools/lab run.
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.incast import command_line, core_time, pairs, sharing  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402

_PING_AFTER_S = 0.5  # the other pair starts this long after the last sender joined
_PING_SLEEP_US = 50  # a caller's sleep is part of the round trip
_LEAST_TURN_S = 1.5


def _parse() -> argparse.Namespace:
    parser = command_line.parser("sharing_perf", __doc__, senders=8, size="64K", settle_s=3.0)
    add = parser.add_argument
    add("--stagger", type=float, default=2.0, metavar="SECONDS", help="time from the first join to the last one (2)")
    add("--duration", type=float, default=9.0, metavar="SECONDS",
        help="time from the first join to the end of all (9)")
    add("--leave", action="store_true",
        help="every fourth sender ends in the middle of its time; "
             f"a new process replaces it {sharing.kAway_s:g} s later")
    add("--ping", action="store_true",
        help="measure round trips of 4 KiB from the last host to host 0, by net_perf, while all senders send")
    add("--ping-iterations", type=int, default=1000, metavar="N", help="number of round trips (1000)")
    # 64 processes on two cores: with 100 us the wake-ups alone keep the cores busy.
    add("--sleep-us", type=int, default=500, metavar="US",
        help="sleep of a sender or receiver that moved nothing (500)")
    args = parse_in_lab(parser)
    if args.senders < 2 or int(os.environ["WORLD_SIZE"]) < (3 if args.ping else 2):
        parser.error("expected at least two senders, a host for them, and one more host for --ping")
    if args.duration - args.stagger < (sharing.kAway_s + 2 * _LEAST_TURN_S if args.leave else _LEAST_TURN_S):
        parser.error("--duration is too short: each sender needs some time after the last join (--stagger)")
    if args.leave and args.senders < 4:
        parser.error("--leave needs four senders: the fourth leaves")
    if args.leave and args.ping:
        parser.error("--ping needs all senders until the end, so --leave cannot be used with it")
    return args


@dataclass(frozen=True)
class _Start:
    """When the processes of a pair start, in seconds from the first join."""

    at_s: float
    pair: pairs.Pair


def _starts(args: argparse.Namespace, turns: list[sharing.Turn], hosts: int, begin_s: float) -> list[_Start]:
    """Returns the turns' pairs, numbered like the turns, and then the other pair."""
    of_senders = hosts - (2 if args.ping else 1)
    made = []
    for number, turn in enumerate(turns):
        options = pairs.load(args.program, args.size, turn.leaves_s - turn.joins_s, warmup_s=0,
                             begin_at_s=begin_s + turn.joins_s, sleep_us=args.sleep_us)
        made.append(_Start(turn.starts_s, pairs.Pair(number, 1 + turn.sender % of_senders, args.program, options)))
    if args.ping:
        options = ["--mode", "pingpong", "--sizes", "4K", "--iterations", str(args.ping_iterations),
                   "--sleep-us", str(_PING_SLEEP_US)]
        at_s = max(turn.joins_s for turn in turns) + _PING_AFTER_S
        made.append(_Start(at_s, pairs.Pair(len(turns), hosts - 1, "net_perf", options)))
    return made


@dataclass(frozen=True)
class _Ran:
    failed: int  # pairs
    last_began_s: float  # the pair that was started last
    last_ended_s: float


def _run(args: argparse.Namespace, starts: list[_Start], rank: int, begin_s: float, folder: Path) -> _Ran:
    """Runs this host's ends of the pairs, from start to end."""
    running, began_s = [], 0.0
    for one in sorted(starts, key=lambda start: start.at_s):
        if rank not in (0, one.pair.host):
            continue
        time.sleep(max(0.0, begin_s + one.at_s - time.monotonic()))
        began_s = time.monotonic()
        running.append(pairs.start(one.pair, args.programs, rank, folder))
    within_s = args.settle + args.duration + pairs.kPatience_s
    failed = pairs.end(running[-1:], within_s)
    ended_s = time.monotonic()
    return _Ran(failed + pairs.end(running[:-1], within_s), began_s, ended_s)


def _series(found: list[sharing.Bin], visits: list[sharing.Visit], senders: list[int], first_s: float) -> dict:
    """`senders`: the sender of each visit."""
    return {"begin_s": [round(one.begin_s - first_s, 3) for one in found],
            "megabytes": [[round(share / 1e6, 3) for share in one.shares] for one in found],
            "visits": [{"sender": sender, "joined_s": round(one.joined_s - first_s, 3),
                        "left_s": round(one.left_s - first_s, 3),
                        "bin_s": sharing.kFine_s, "mbps": [round(rate, 2) for rate in sharing.rates_mbps(one)]}
                       for sender, one in zip(senders, visits)]}


def _summary(args: argparse.Namespace, visits: list[sharing.Visit], found: list[sharing.Bin], first_s: float,
             samples: list[core_time.Sample]) -> dict:
    spans = sharing.together(visits, args.senders)
    indices = sharing.indices(found)
    least = min(range(len(found)), key=indices.__getitem__, default=None)
    return {"senders": args.senders, "together_s": sum(end - begin for begin, end in spans),
            "goodput_gbps": sharing.goodput_gbps(visits, spans), "bins": len(found),
            "jain_least": min(indices, default=0.0), "jain_median": median(indices) if indices else 0.0,
            "jain_least_at_s": None if least is None else round(found[least].begin_s - first_s, 3),
            "jain": [round(index, 4) for index in indices], "busy": core_time.busy(samples, spans)}


def _round_trips(document: dict, ran: _Ran, spans: list[tuple[float, float]]) -> dict:
    """Returns the round trips. Raises SystemExit unless all senders sent meanwhile."""
    if not any(begin <= ran.last_began_s and ran.last_ended_s <= end for begin, end in spans):
        raise SystemExit("sharing_perf: the round trips took longer than all sent together: fewer --ping-iterations, "
                         "or a longer --duration")
    trips = document["results"][0]
    return {"ping": {"iterations": trips["iterations"], "p50_us": trips["rtt_us"]["p50"],
                     "p99_us": trips["rtt_us"]["p99"]}}


def main() -> int:
    args = _parse()
    rank, hosts = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    folder = pairs.folder("sharing")
    turns = sharing.turns(args.senders, args.stagger, args.duration, args.leave)
    begin_s = pairs.agree(folder, rank, args.settle)
    watch = core_time.Watch() if rank == 0 else None
    ran = _run(args, _starts(args, turns, hosts, begin_s), rank, begin_s, folder)
    if watch is None:
        return 0  # host 0 counts the senders that left no result
    try:
        numbers = list(range(len(turns) + (1 if args.ping else 0)))
        documents = pairs.results(numbers, folder, 1.0 if ran.failed else pairs.kPatience_s / 4)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    came = [number for number in range(len(turns)) if number in documents]
    visits = [sharing.visit(documents[number]["results"][0], counts_whole=args.program == "net_perf")
              for number in came]
    failed = len({turn.sender for number, turn in enumerate(turns) if number not in documents})
    found, first_s = sharing.bins(visits), min((one.joined_s for one in visits), default=0.0)
    summary = {"failed": failed, **_summary(args, visits, found, first_s, watch.stop())}
    if args.ping:
        if len(documents) < len(numbers):
            raise SystemExit(f"sharing_perf: {failed} of {args.senders} senders failed"
                             f"{'' if len(turns) in documents else ', and so did the other pair'}")
        summary |= _round_trips(documents[len(turns)], ran, sharing.together(visits, args.senders))
    write_result({"program": args.program, "summary": summary,
                  "series": _series(found, visits, [turns[number].sender for number in came], first_s)}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
