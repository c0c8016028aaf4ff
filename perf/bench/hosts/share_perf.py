"""Compares what net_perf carries over all rails with what raw TCP carries over the rails that work.

Both send from rank 0 to rank 1, in turns: raw TCP, net_perf, raw TCP, and so on. With --bad, the last rail is bad while
net_perf runs, from its start on. The program also checks that the plugin logged the expected warning. Run it by
tools/lab run, on two hosts.
"""
from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.faults import losses, recovery  # noqa: E402
from bench.faults.rank_programs import RankPrograms  # noqa: E402
from bench.faults.yardstick import raw_gbps  # noqa: E402
from bench.hosts.bad_rails import kBad  # noqa: E402
from lab import state  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_RAW_S = 0.5


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="share_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--rails", type=int, required=True, help="number of rails that work: the first ones of each host")
    add("--rounds", type=int, default=3, help="number of rounds; a round is one run of raw TCP and one of net_perf (3)")
    add("--duration", type=float, default=1.2, metavar="SECONDS", help="length of net_perf's timed block (1.2)")
    add("--settle", type=float, default=0.5, metavar="SECONDS",
        help="length of net_perf's warm-up before the block (0.5)")
    add("--from", type=float, default=0.0, dest="from_s", metavar="SECONDS",
        help="length of the block's beginning that does not count (0)")
    add("--warning", default="", metavar="REGEX",
        help="a line of the plugin's log at WARN must match this, unless more rails carry than --rails")
    add("--bad", choices=sorted(kBad), help="the fault of the last rail; without this option all rails are whole")
    add("--programs", type=Path, default=_ROOT / "build" / "release" / "bin",
        help="folder of net_perf and raw_tcp (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    return parse_in_lab(parser)


class Round:
    """One raw and one net_perf measurement, at this rank."""

    def __init__(self, ranks: RankPrograms, args: argparse.Namespace) -> None:
        self._ranks, self._args, self._is_first = ranks, args, os.environ["RANK"] == "0"

    def run(self) -> dict:
        raw = sum(raw_gbps(self._ranks, self._args.rails, _RAW_S))
        self._spoil()
        try:
            document, said = self._ranks.end(self._ranks.begin("net_perf", *self._load()))
        finally:
            self._mend()
        warned = [line for line in said.splitlines() if "WARN" in line]
        if not self._is_first:
            return {}
        if document is None:
            return {"raw_gbps": raw, "ours_gbps": 0.0, "failed": True, "said": said, "warned": warned}
        return {"raw_gbps": raw, "ours_gbps": self._carried_gbps(document), "failed": False, "warned": warned}

    def _carried_gbps(self, document: dict) -> float:
        if not self._args.from_s:
            return document["summary"]["goodput_gbps"]
        return recovery.mean_gbps(recovery.bins(document["results"][0]), self._args.from_s, self._args.duration)

    def _load(self) -> list[str]:
        return ["--size", "1M", "--inflight", "4", "--sleep-us", "50", "--warmup", str(self._args.settle),
                "--duration", str(self._args.duration)]

    def _spoil(self) -> None:
        if self._args.bad and self._is_first:
            plan = state.load(os.environ["RWLAB"])
            kBad[self._args.bad].make(plan, plan.hosts[1], plan.hosts[1].nics[-1])

    def _mend(self) -> None:
        if self._args.bad and self._is_first:
            losses.undo(state.load(os.environ["RWLAB"]), self._args.rails)


def _summary(rounds: list[dict], args: argparse.Namespace) -> dict:
    """If more rails carry than ARP was expected to leave, no warning is due."""
    shares = [found["ours_gbps"] / found["raw_gbps"] for found in rounds]
    warned = any(re.search(args.warning, line) for found in rounds for line in found["warned"])
    more = median(shares) > (args.rails + 0.5) / args.rails
    return {"share": median(shares), "ours_gbps": median(found["ours_gbps"] for found in rounds),
            "raw_gbps": median(found["raw_gbps"] for found in rounds),
            "errors": sum(found["failed"] for found in rounds),
            "unsaid": int(bool(args.warning) and not warned and not more)}


def main() -> int:
    args = _parse()
    with tempfile.TemporaryDirectory(prefix="share-") as folder:
        ranks = RankPrograms(args.programs, Path(folder))
        rounds = [Round(ranks, args).run() for _ in range(args.rounds)]
    if os.environ["RANK"] == "0":
        write_result({"rounds": rounds, "summary": _summary(rounds, args)}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
