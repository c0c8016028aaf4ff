"""One of two rails is lost in mid-transfer, at an instant drawn from a seed, again and again: how soon the other one carries
all that raw TCP carries there, how soon the lost one is in use when it is back, and whether anything pauses for that. net_perf
sends from rank 0 to rank 1 and compares every byte. One rank, found by RANK and what perf/lab sets; the lab needs a switch
(--shape switch).

The second rail is the one that is lost: ranks meet over the first.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from faultkit import losses, recovery  # noqa: E402
from labkit import state  # noqa: E402

_ROOT = Path(__file__).resolve().parents[2]
_SET_BY_THE_LAB = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RWLAB", "RWLAB_NICS")
_WARMUP_S = 0.5
_FIRST_S, _SPREAD_S = 0.3, 0.5  # the loss comes so long after the block began, and at most so much later
_COMMANDS_S = 0.5  # what the lab's take
_BACK_S = 3.5  # watched for so long, which is less than what is promised (5 s): trials are many
_NEVER_S = 10.0
_RAW_EVERY = 10  # trials
_PORTS = 50  # used in turn
_PATIENCE_S = 60.0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="rail_loss_perf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kind", required=True, choices=sorted(losses.kLosses), help="how the rail is lost")
    add("--trials", type=int, default=100, help="(100)")
    add("--seed", type=int, default=1, help="of instants and sides (1)")
    add("--programs", default=str(_ROOT / "build" / "release" / "bin"), help="folder of net_perf and raw_tcp (build/release/bin)")
    add("--json", help="write what was measured there")
    args = parser.parse_args()
    if missing := [name for name in _SET_BY_THE_LAB if name not in os.environ]:
        parser.error(f"{', '.join(missing)} not set: run it by perf/lab run --shape switch")
    if len(os.environ["RWLAB_NICS"].split(",")) != 2 or os.environ["WORLD_SIZE"] != "2":
        parser.error("expected two hosts with two rails each")
    if args.trials < 1:
        parser.error(f"--trials {args.trials}: at least 1")
    return args


class Ranks:
    """This rank's half of the programs that run between both, one after the other."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.json = programs, folder / "run.json"
        self.first_port = int(os.environ["MASTER_PORT"]) + 1
        self.runs = 0

    def begin(self, program: str, *options: str) -> subprocess.Popen:
        self.json.unlink(missing_ok=True)
        self.runs += 1
        environment = {**os.environ, "MASTER_PORT": str(self.first_port + self.runs % _PORTS)}
        return subprocess.Popen([str(self.programs / program), *options, "--json", str(self.json)], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self, running: subprocess.Popen) -> tuple[dict | None, str]:
        """What rank 0 wrote, and what was said."""
        try:
            said, _ = running.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            running.kill()
            return None, f"it hangs\n{running.communicate()[0]}"
        written = self.json.exists() and running.returncode == 0
        return (json.loads(self.json.read_text()) if written else None), said


def _raw_gbps(ranks: Ranks) -> float:
    """What raw TCP carries over the rail that is never lost."""
    found, said = ranks.end(ranks.begin("raw_tcp", "--rails", os.environ["RWLAB_NICS"].split(",")[0], "--cc", "cubic", "--duration", "1"))
    if int(os.environ["RANK"]) != 0:
        return 0.0
    if found is None:
        raise SystemExit(f"rail_loss_perf: raw_tcp failed: {said}")
    return found["summary"]["sum_gbps"]


def _sleep_until(moment_s: float) -> None:
    time.sleep(max(0.0, moment_s - time.monotonic()))


def _begun_s(rail: str, at_least_bytes: int) -> float:
    """When the rail has carried so much since now."""
    counter = Path("/sys/class/net") / rail / "statistics" / "tx_bytes"
    before, give_up = int(counter.read_text()), time.monotonic() + _PATIENCE_S
    while int(counter.read_text()) - before < at_least_bytes and time.monotonic() < give_up:
        time.sleep(0.002)
    return time.monotonic()


def _trial(ranks: Ranks, args: argparse.Namespace, chance: random.Random) -> dict:
    """On rank 0: one transfer with its loss; seconds are from CLOCK_MONOTONIC."""
    loss = losses.kLosses[args.kind]
    plan = state.load(os.environ["RWLAB"])
    rail = os.environ["RWLAB_NICS"].split(",")[1]
    after_s = _FIRST_S + _SPREAD_S * chance.random()
    running = ranks.begin("net_perf", *_load(loss))
    lost_s = _begun_s(rail, 1_000_000) + _WARMUP_S + after_s
    _sleep_until(lost_s)
    lost_s = time.monotonic()
    loss.happen(plan, 1, chance)
    took_s = time.monotonic() - lost_s
    if loss.returns:
        _sleep_until(lost_s + loss.outage_s)
    undone_s = time.monotonic()
    if loss.returns:
        losses.undo(plan, 1)
    back_s = time.monotonic()
    document, said = ranks.end(running)
    return {"after_s": after_s, "lost_s": lost_s, "took_s": took_s, "undone_s": undone_s, "back_s": back_s,
            "document": document, "said": said}


def _load(loss: losses.Loss) -> list[str]:
    seconds = _FIRST_S + _SPREAD_S + loss.outage_s + _BACK_S + _COMMANDS_S
    # Callers sleep while nothing comes: hosts of the lab share the machine's cores.
    return ["--size", "128K", "--inflight", "32", "--verify", "--sleep-us", "50", "--warmup", str(_WARMUP_S), "--duration", f"{seconds:.1f}"]


def _judged(trial: dict, raw_gbps: float, loss: losses.Loss) -> dict:
    found = {"after_s": trial["after_s"], "injecting_s": trial["took_s"], "raw_gbps": raw_gbps, "warned": [line for line in trial["said"].splitlines() if "WARN" in line]}
    if trial["document"] is None:
        unknown = dict.fromkeys(("recovered_s", "returned_s", "least_before_return", "least_after_return"))
        return {**found, "failed": True, "wrong": 0, **unknown}
    result = trial["document"]["results"][0]
    bins, rail = recovery.bins(result), os.environ["RWLAB_NICS"].split(",")[1]
    # Connections that were reset are made again at once: both rails carry, and that is more than one does.
    until_s = trial["back_s"] if loss.returns else float("inf")
    recovered_s = recovery.recovered_s(bins, trial["lost_s"], until_s, raw_gbps)
    alone_s = None if recovered_s is None else trial["lost_s"] + recovered_s
    return {**found, "failed": False, "wrong": result["verify"]["errors"], "recovered_s": recovered_s,
            "returned_s": recovery.returned_s(bins, rail, trial["back_s"], raw_gbps),
            # On one rail undisturbed: what of the next is noise.
            "least_before_return": None if alone_s is None else recovery.least_share(bins, alone_s, trial["undone_s"], raw_gbps),
            "least_after_return": recovery.least_share(bins, trial["undone_s"], float("inf"), raw_gbps)}


def _summary(trials: list[dict]) -> dict:
    """What did not come within its time counts as ten seconds; who failed carried nothing."""
    recovered = sorted(_NEVER_S if trial["recovered_s"] is None else trial["recovered_s"] for trial in trials)
    returned = [_NEVER_S if trial["returned_s"] is None else trial["returned_s"] for trial in trials]
    least = sorted((trial["least_after_return"] or 0.0 for trial in trials), reverse=True)
    p99 = -(-99 * len(trials) // 100) - 1  # of those, the best first
    return {
        "trials": len(trials),
        "median_s": median(recovered),
        "p99_s": recovered[p99],
        "never": sum(trial["recovered_s"] is None for trial in trials),
        "back_in_use_s": max(returned),
        "least_after_return": least[-1],
        "least_after_return_p99": least[p99],
        "least_after_return_median": median(least),
        "errors": sum(trial["failed"] for trial in trials),
        "wrong_bytes": sum(trial["wrong"] for trial in trials),
    }


def main() -> int:
    args = _parse()
    loss = losses.kLosses[args.kind]
    first = int(os.environ["RANK"]) == 0
    judged = []
    with tempfile.TemporaryDirectory(prefix="rail-loss-") as folder:
        ranks = Ranks(Path(args.programs), Path(folder))
        raw_gbps = 0.0
        for number in range(args.trials):
            if number % _RAW_EVERY == 0:
                raw_gbps = _raw_gbps(ranks)
            if first:
                chance = random.Random(f"{args.seed} {args.kind} {number}")
                judged.append({"number": number, **_judged(_trial(ranks, args, chance), raw_gbps, loss)})
                print(f"{args.kind} {number}: recovered {judged[-1]['recovered_s']}, back in use {judged[-1]['returned_s']}, "
                      f"least after that {judged[-1]['least_after_return']}", file=sys.stderr, flush=True)
            else:
                ranks.end(ranks.begin("net_perf", *_load(loss)))
    if first:
        document = {"kind": args.kind, "what": loss.what, "seed": args.seed, "trials": judged, "summary": _summary(judged)}
        print(json.dumps(document["summary"]))
        if args.json:
            Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
