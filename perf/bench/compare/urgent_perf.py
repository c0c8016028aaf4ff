"""Measures how long an urgent all-gather takes while a large reduce-scatter is on the wire, through torch.

In turns, the program runs the reduce-scatter alone, and with one all-gather beside it. The all-gather is issued between
a tenth and four fifths of the reduce-scatter's time. All ranks issue an operation at the same instant of
CLOCK_MONOTONIC, which rank 0 names, so no rank waits for another and the rails stay busy. Hence all ranks must be on
one machine. Times are from these instants to the last rank's end. Run it by tools/lab run or torchrun.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from datetime import timedelta
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import railweave  # noqa: E402

from bench.sizes import parse_size  # noqa: E402
from lab.inside import parse_as_rank  # noqa: E402
from bench.steps.over_ranks import greatest, greatest_of_each  # noqa: E402
from bench.steps.paired import paired_ratio  # noqa: E402

_FLOAT_BYTES = 4
_EARLIEST, _LATEST = 0.1, 0.8  # shares of the reduce-scatter's own time
_WARMUPS = 2
_SOON_S = 0.02  # longer than a broadcast takes


class Pair:
    """The two operations and their memory."""

    def __init__(self, bulk_bytes: int, urgent_bytes: int, priority: str) -> None:
        ranks = dist.get_world_size()
        self._from, self._to = torch.ones(bulk_bytes // _FLOAT_BYTES), torch.zeros(bulk_bytes // _FLOAT_BYTES // ranks)
        self._mine = torch.ones(urgent_bytes // _FLOAT_BYTES // ranks)
        self._all = torch.zeros(urgent_bytes // _FLOAT_BYTES)
        self._priority = priority

    def alone(self) -> float:
        """Returns the seconds of the reduce-scatter."""
        begin = _agreed_instant()
        _sleep_until(begin)
        dist.reduce_scatter_single(self._to, self._from)
        return time.monotonic() - begin

    def together(self, after_s: float) -> tuple[float, float]:
        """Returns the seconds of the reduce-scatter and of the all-gather issued `after_s` later."""
        begin = _agreed_instant()
        _sleep_until(begin)
        bulk = dist.reduce_scatter_single(self._to, self._from, async_op=True)
        _sleep_until(begin + after_s)
        with railweave.hints(self._priority):
            dist.all_gather_single(self._all, self._mine)
        urgent_s = time.monotonic() - (begin + after_s)
        bulk.wait()
        return time.monotonic() - begin, urgent_s


def _agreed_instant() -> float:
    """Returns a moment shortly ahead, the same on every rank."""
    instant = torch.tensor(time.monotonic() + _SOON_S, dtype=torch.float64)
    dist.broadcast(instant, 0)
    return instant.item()


def _sleep_until(instant: float) -> None:
    time.sleep(max(0.0, instant - time.monotonic()))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="urgent_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--bulk", type=parse_size, default=256 << 20, help="bytes that each rank gives the reduce-scatter (256M)")
    add("--urgent", type=parse_size, default=1 << 20, help="bytes that each rank gets by the all-gather (1M)")
    add("--priority", choices=["urgent", "normal", "bulk"], default="urgent",
        help="priority of the all-gather (urgent)")
    add("-n", "--iters", type=int, default=50, help="number of turns (50)")
    add("--json", metavar="FILE", help="write the results to this file")
    args = parse_as_rank(parser)
    unit = _FLOAT_BYTES * int(os.environ["WORLD_SIZE"])
    for name, value in (("--bulk", args.bulk), ("--urgent", args.urgent)):
        if value <= 0 or value % unit:
            parser.error(f"{name}: expected a multiple of {unit} bytes (a float of each rank), found {value}")
    if args.iters < 1:
        parser.error(f"--iters: expected 1 or more, found {args.iters}")
    return args


def main() -> int:
    args = _parse()
    torch.set_num_threads(1)
    dist.init_process_group("railweave", timeout=timedelta(seconds=120))
    pair = Pair(args.bulk, args.urgent, args.priority)
    expected_s = greatest(min(pair.alone() for _ in range(_WARMUPS)))
    instants = random.Random(1)
    alone, together, urgent = [], [], []
    for _ in range(args.iters):
        alone.append(pair.alone())
        seconds = pair.together(expected_s * instants.uniform(_EARLIEST, _LATEST))
        together.append(seconds[0])
        urgent.append(seconds[1])
    found = {"bulk_alone_s": greatest_of_each(alone), "bulk_with_s": greatest_of_each(together),
             "urgent_s": greatest_of_each(urgent)}
    summary = {name: median(values) for name, values in found.items()}
    if dist.get_rank() == 0:
        print("  ".join(f"{name} {value:.6f}" for name, value in summary.items()), flush=True)
        if args.json:
            with_of_alone = paired_ratio(found["bulk_with_s"], found["bulk_alone_s"])
            document = {"program": "urgent_perf", "bulk_bytes": args.bulk, "urgent_bytes": args.urgent,
                        "priority": args.priority, "summary": {**summary, "bulk_with_of_alone": with_of_alone},
                        "results": [found]}
            Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
