"""Measures how fast a transfer recovers when a rail is lost and when the rail is back.

In each trial, net_perf sends from rank 0 to rank 1 and compares every byte. The second rail is lost in mid-transfer, at
an instant drawn from the seed, and comes back later. The program measures how soon the other rails carry as much as raw
TCP does on them, how soon the lost rail carries again once it is back, and how long the transfer pauses meanwhile.

Run it by tools/lab run, on two hosts. The ranks meet over the first rail, or over the lab's --management interface.
"""
from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.faults import losses, recovery  # noqa: E402
from bench.faults.rank_programs import RankPrograms  # noqa: E402
from bench.faults.traffic import wait_for_traffic  # noqa: E402
from bench.faults.yardstick import raw_gbps  # noqa: E402
from lab import state  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_BEGUN_BYTES = 1_000_000
_WARMUP_S = 0.5
_FIRST_S, _SPREAD_S = 0.3, 0.5  # the loss comes _FIRST_S plus up to _SPREAD_S after the block began
_COMMANDS_S = 0.5  # time for the lab's commands
_BACK_S = 3.5  # length of the transfer after the rail is back: less than the promised 5 s, since trials are many
_NEVER_S = 10.0
_RAW_EVERY = 10  # trials
_TOLD_CHARS = 2000  # of a failed program's output
_PATIENCE_S = 60.0
_LOST = 1  # number of the NIC


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rail_loss_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kind", required=True, choices=sorted(losses.kLosses), help="how the rail is lost")
    add("--trials", type=int, default=100, help="number of trials (100)")
    add("--seed", type=int, default=1, help="seed of the instants and of the hosts with the fault (1)")
    add("--host", type=int, choices=(0, 1), help="the host with the fault, instead of a random one")
    add("--rails", type=int, default=2, help="number of rails that carry before the loss (2)")
    add("--left", type=int, default=1, help="number of rails that carry during the loss (1)")
    add("--outage", type=float, metavar="SECONDS", help="time until the loss is undone, instead of its kind's time")
    add("--watch", type=float, default=_BACK_S, metavar="SECONDS",
        help=f"length of the transfer after the loss is undone ({_BACK_S:g})")
    add("--excuse", default="", metavar="WORD", help="ignore errors that contain this word, such as arp_ignore")
    add("--programs", default=str(_ROOT / "build" / "release" / "bin"),
        help="folder of net_perf and raw_tcp (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    args = parse_in_lab(parser)
    if os.environ["WORLD_SIZE"] != "2":
        parser.error("expected two hosts")
    if args.trials < 1:
        parser.error(f"--trials {args.trials}: at least 1")
    return args


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))


def _outage_s(args: argparse.Namespace) -> float:
    loss = losses.kLosses[args.kind]
    return loss.outage_s if args.outage is None or not loss.returns else args.outage


def _trial(ranks: RankPrograms, args: argparse.Namespace, chance: random.Random) -> dict:
    """On rank 0: runs one transfer with its loss. Seconds are of CLOCK_MONOTONIC."""
    loss = losses.kLosses[args.kind]
    plan = state.load(os.environ["RWLAB"])
    after_s = _FIRST_S + _SPREAD_S * chance.random()
    drawn = chance.choice((0, 1))
    host = plan.hosts[next(number for number in (loss.at, args.host, drawn) if number is not None)]
    running = ranks.begin("net_perf", *_load(args))
    wait_for_traffic(os.environ["RWLAB_NICS"].split(","), ("tx_bytes",), _BEGUN_BYTES, _PATIENCE_S)
    time.sleep(_WARMUP_S + after_s)
    lost_s = time.monotonic()
    loss.happen(plan, host, host.nics[_LOST])
    took_s = time.monotonic() - lost_s
    if loss.returns:
        _sleep_until(lost_s + _outage_s(args))
    undone_s = time.monotonic()
    if loss.returns:
        losses.undo(plan, _LOST)
    back_s = time.monotonic()
    document, said = ranks.end(running)
    return {"after_s": after_s, "lost_s": lost_s, "took_s": took_s, "undone_s": undone_s, "back_s": back_s,
            "document": document, "said": said}


def _load(args: argparse.Namespace) -> list[str]:
    seconds = _FIRST_S + _SPREAD_S + _outage_s(args) + args.watch + _COMMANDS_S
    # Callers sleep while nothing arrives: the hosts of the lab share the machine's cores.
    return ["--size", "128K", "--inflight", "32", "--verify", "--sleep-us", "50", "--warmup", str(_WARMUP_S),
            "--duration", f"{seconds:.1f}"]


def _judged(trial: dict, rail_gbps: float, args: argparse.Namespace) -> dict:
    """`rail_gbps`: rate of raw TCP on one rail."""
    loss, left_gbps = losses.kLosses[args.kind], args.left * rail_gbps
    found = {"after_s": trial["after_s"], "injecting_s": trial["took_s"], "raw_gbps": rail_gbps,
             "warned": [line for line in trial["said"].splitlines() if "WARN" in line]}
    if trial["document"] is None:
        unknown = dict.fromkeys(("recovered_s", "returned_s", "full_s", "least_before_return", "least_after_return",
                                 "least_after_full"))
        excused = bool(args.excuse) and args.excuse in trial["said"]
        return {**found, "failed": not excused, "excused": excused, "said": trial["said"][-_TOLD_CHARS:], "wrong": 0,
                **unknown}
    result = trial["document"]["results"][0]
    bins, nics = recovery.bins(result), os.environ["RWLAB_NICS"].split(",")
    # Reset connections are made again at once: both rails carry, which is more than one rail does.
    until_s = trial["back_s"] if loss.returns else float("inf")
    recovered_s = recovery.recovered_s(bins, trial["lost_s"], until_s, left_gbps)
    alone_s = None if recovered_s is None else trial["lost_s"] + recovered_s
    # On a busy machine the rails together carry less than the sum of raw TCP's single rails. Full speed is therefore at
    # most the rate before the loss.
    full_gbps = min(args.rails * rail_gbps, recovery.usual_gbps(bins, trial["lost_s"]))
    full_s = recovery.recovered_s(bins, trial["back_s"], float("inf"), full_gbps)
    least_alone = None if alone_s is None else recovery.least_share(bins, alone_s, trial["undone_s"], left_gbps)
    from_full_s = None if full_s is None else trial["back_s"] + full_s
    least_full = None if full_s is None else recovery.least_share(bins, from_full_s, float("inf"), left_gbps)
    return {**found, "failed": False, "excused": False, "wrong": result["verify"]["errors"], "recovered_s": recovered_s,
            "returned_s": recovery.returned_s(bins, nics[_LOST], trial["back_s"], rail_gbps),
            "full_s": full_s, "full_gbps": full_gbps,
            "series": {"from_loss_s": [round(b.end_s - trial["lost_s"], 3) for b in bins],
                       "gbps": [round(b.gbps(b.payload_bytes), 3) for b in bins]},
            # The share of one undisturbed rail shows how much of the next figure is noise.
            "least_before_return": least_alone,
            "least_after_return": recovery.least_share(bins, trial["undone_s"], float("inf"), left_gbps),
            "least_after_full": least_full}


def _summary(trials: list[dict]) -> dict:
    """An event that did not come in time counts as ten seconds. A failed trial carried nothing."""
    recovered = sorted(_NEVER_S if trial["recovered_s"] is None else trial["recovered_s"] for trial in trials)
    returned = [_NEVER_S if trial["returned_s"] is None else trial["returned_s"] for trial in trials]
    full = [_NEVER_S if trial["full_s"] is None else trial["full_s"] for trial in trials]
    least = sorted((trial["least_after_return"] or 0.0 for trial in trials), reverse=True)
    p99 = -(-99 * len(trials) // 100) - 1  # index of the 99th percentile, the best first
    return {
        "trials": len(trials),
        "median_s": median(recovered),
        "p99_s": recovered[p99],
        "never": sum(trial["recovered_s"] is None for trial in trials),
        "back_in_use_s": max(returned),
        "full_speed_s": max(full),
        "least_after_full": min(trial["least_after_full"] or 0.0 for trial in trials),
        "least_after_return": least[-1],
        "least_after_return_p99": least[p99],
        "least_after_return_median": median(least),
        "errors": sum(trial["failed"] for trial in trials),
        "excused": sum(trial["excused"] for trial in trials),
        "wrong_bytes": sum(trial["wrong"] for trial in trials),
    }


def main() -> int:
    args = _parse()
    first = int(os.environ["RANK"]) == 0
    judged = []
    with tempfile.TemporaryDirectory(prefix="rail-loss-") as folder:
        ranks = RankPrograms(Path(args.programs), Path(folder))
        rail_gbps = 0.0
        for number in range(args.trials):
            if number % _RAW_EVERY == 0:
                rail_gbps, = raw_gbps(ranks, 1)
            if first:
                chance = random.Random(f"{args.seed} {args.kind} {number}")
                judged.append({"number": number, **_judged(_trial(ranks, args, chance), rail_gbps, args)})
                print(f"{args.kind} {number}: recovered {judged[-1]['recovered_s']}, "
                      f"back in use {judged[-1]['returned_s']}, full speed {judged[-1]['full_s']}, "
                      f"least after the return {judged[-1]['least_after_return']}", file=sys.stderr, flush=True)
            else:
                ranks.end(ranks.begin("net_perf", *_load(args)))
    if first:
        write_result({"kind": args.kind, "what": losses.kLosses[args.kind].what, "seed": args.seed, "trials": judged,
              "summary": _summary(judged)}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
