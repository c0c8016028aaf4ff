"""Training steps while one of two rails is slowed to a tenth for a minute, then restored: the demo's model, overlapped,
two ranks in a lab. One rank, found by RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and what tools/lab sets.

Steps are of communication mostly (--mbit sets the rails' rate), so that their time follows what the rails carry.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from bench.steps import rails, variants  # noqa: E402
from bench.steps.at_least import at_least  # noqa: E402
from bench.steps.bound import bound_s  # noqa: E402
from bench.steps.command_line import command_line, parse_step  # noqa: E402
from bench.steps.over_ranks import greatest, losses_that_differ  # noqa: E402
from bench.steps.pieces import as_overlapped, trace_of  # noqa: E402
from bench.steps.recorder import Recorder  # noqa: E402

_WARMUPS = 3
_SLOWER = 10
_UNDISTURBED_MBIT = 10_000


def _parse() -> argparse.Namespace:
    parser = command_line("slow_rail_perf", __doc__, programs=True)
    add = parser.add_argument
    add("--mbit", type=at_least(_SLOWER), default=500, help="rate of each rail (500)")
    add("--sequences", type=at_least(1), default=1, help="number of sequences of each rank in a step (1)")
    add("--steps", type=at_least(1), default=10, help="number of steps before the rail is slow, and after (10)")
    add("--slow-s", type=at_least(1, float), default=60, help="time in which the rail is slow (60)")
    return parse_step(parser, rails=2)


def _go_on(begin: float, seconds: float) -> bool:
    """Whether to continue, by rank 0's clock."""
    more = torch.tensor(int(time.monotonic() - begin < seconds))
    dist.broadcast(more, 0)
    return bool(more.item())


def _recorded_step(nics: list[str], sequences: int) -> dict[str, Any]:
    """Returns fsdp_replay's trace of an overlapped step."""
    alone = variants.Variant("alone", nics, sequences)
    alone.step()
    with Recorder() as recorder:
        return as_overlapped(trace_of([recorder.record(alone.step) for _ in range(3)]))


def main() -> int:
    args = _parse()
    nics = os.environ["RWLAB_NICS"].split(",")
    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    rails.set_rates({0: args.mbit, 1: args.mbit})
    trace = _recorded_step(nics, args.sequences)
    gbps = rails.raw_gbps(args.programs)
    overlapped = variants.Variant("overlap", nics, args.sequences)
    for _ in range(_WARMUPS):
        overlapped.step()
    taken: dict[str, list[float]] = {"before": [], "slow": [], "after": []}
    taken["before"] = [greatest(overlapped.step()) for _ in range(args.steps)]
    rails.set_rates({1: args.mbit // _SLOWER})
    slow_gbps = rails.raw_gbps(args.programs)
    begin = time.monotonic()
    while _go_on(begin, args.slow_s):
        taken["slow"].append(greatest(overlapped.step()))
    rails.set_rates({1: args.mbit})
    taken["after"] = [greatest(overlapped.step()) for _ in range(args.steps)]
    # The same steps on rails that were never slowed, for their losses.
    rails.set_rates({0: _UNDISTURBED_MBIT, 1: _UNDISTURBED_MBIT})
    undisturbed = variants.Variant("overlap", nics, args.sequences)
    for _ in overlapped.losses:
        undisturbed.step()
    losses_differ = losses_that_differ(overlapped.losses, undisturbed.losses)
    if dist.get_rank() == 0 and args.json:
        bound, slow_bound = (bound_s(args.programs, trace, each) for each in (gbps, slow_gbps))
        step_s = {name: median(seconds) for name, seconds in taken.items()}
        Path(args.json).write_text(json.dumps({
            "mbit": args.mbit, "seconds": taken, "raw_gbps": gbps, "slow_gbps": slow_gbps, "bound_s": bound,
            "slow_bound_s": slow_bound,
            "summary": {
                "step_s": step_s,
                "raw_left": slow_gbps / gbps,
                "times_before": step_s["slow"] / step_s["before"],
                "bound_times": slow_bound / bound,
                "slow_of_bound": step_s["slow"] / slow_bound,
                "after_of_before": step_s["after"] / step_s["before"],
                "losses_differ": losses_differ,
            },
        }, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
