"""A training step beside its bound: the demo's model under FSDP2, two ranks in a lab, by turns without communication,
over Gloo on one rail and on all, over railweave, and over railweave overlapped. One rank, found by RANK, WORLD_SIZE,
MASTER_ADDR, MASTER_PORT and what tools/lab sets.

First the step alone says how long compute takes; then rank 0 sets the rails' rate so that the step's collectives,
issued at once without compute, take --ratio times as long.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from demo import back_to_back  # noqa: E402
from demo.rail_rate import rail_mbit  # noqa: E402
from bench.steps import rails, variants  # noqa: E402
from bench.steps.at_least import at_least  # noqa: E402
from bench.steps.bound import bound_s  # noqa: E402
from bench.steps.command_line import RANKS, command_line, parse_step  # noqa: E402
from bench.steps.over_ranks import greatest, losses_that_differ  # noqa: E402
from bench.steps.paired import paired_ratio  # noqa: E402
from bench.steps.pieces import GATHER, REDUCE, Call, as_overlapped, bytes_each_way, trace_of  # noqa: E402
from bench.steps.recorder import Recorder  # noqa: E402

_LEAST_ALONE_S = 2.5
_PROBED, _MARGIN = 4, 1.1  # sequences of the probe; margin on the computed number, since steps vary
_WARMUPS = 2  # the first records the order of layers
_TITLES = {GATHER: "all-gather", REDUCE: "reduce-scatter"}
_GLOO = ("gloo_one_rail", "gloo")


def _parse() -> argparse.Namespace:
    parser = command_line("step_perf", __doc__, programs=True)
    add = parser.add_argument
    add("--ratio", type=at_least(0.01, float), default=1.0, help="ratio of communication time to compute time (1)")
    add("--rounds", type=at_least(1), default=5, help="number of rounds; each variant makes one step in a round (5)")
    add("--sequences", type=at_least(0), default=0,
        help=f"number of sequences of each rank in a step; 0: as many as take {_LEAST_ALONE_S:g} s alone (0)")
    return parse_step(parser)


def _say(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, file=sys.stderr, flush=True)


def _enough_sequences(nics: list[str], asked: int) -> int:
    if asked:
        return asked
    probe = variants.Variant("alone", nics, _PROBED)
    probe.step()
    return max(_PROBED, math.ceil(_PROBED * _MARGIN * _LEAST_ALONE_S / greatest(min(probe.step() for _ in range(2)))))


def _rails_for(calls: list[Call], comm_s: float, nics: list[str]) -> tuple[int, float]:
    """Sets the rails' rate so that these collectives, issued at once without compute, take `comm_s`. Returns Mb/s of
    each rail, and the time that the collectives then take."""
    mbit, taken_s = rail_mbit(bytes_each_way(calls, RANKS), comm_s, len(nics)), comm_s
    for _ in range(2):  # the second corrects by the time at the first rate
        mbit = round(mbit * taken_s / comm_s)
        if mbit < 1:
            raise SystemExit("--ratio: found one that asks for rails of less than 1 Mb/s, "
                             f"of {comm_s:.0f} s of communication")
        rails.set_rates({number: mbit for number in range(len(nics))})
        taken_s = greatest(back_to_back.seconds([{"name": _TITLES[call.name], "bytes": call.whole_bytes}
                                                 for call in calls]))
    return mbit, taken_s


def _rounds(all_variants: list[variants.Variant], rounds: int) -> dict[str, list[float]]:
    """Returns the seconds of each variant's steps, of the slowest rank."""
    for variant in all_variants:
        for _ in range(_WARMUPS):
            variant.step()
    taken: dict[str, list[float]] = {variant.name: [] for variant in all_variants}
    for number in range(rounds):
        for variant in all_variants[number % len(all_variants):] + all_variants[:number % len(all_variants)]:
            taken[variant.name].append(greatest(variant.step()))
        _say(f"round {number + 1} of {rounds}: "
             + ", ".join(f"{name} {seconds[-1]:.2f} s" for name, seconds in taken.items()))
    return taken


def _summary(taken: dict[str, list[float]], bound: float) -> dict[str, Any]:
    step_s = {name: median(seconds) for name, seconds in taken.items()}
    gloo = min(_GLOO, key=step_s.get)
    return {
        "step_s": step_s, "better_gloo": gloo, "better_gloo_s": step_s[gloo], "bound_s": bound,
        "hidden": paired_ratio([a - b for a, b in zip(taken["railweave"], taken["overlap"])],
                               [a - bound for a in taken["railweave"]]),
        "of_bound": paired_ratio(taken["overlap"], [bound] * len(taken["overlap"])),
        "times_gloo": paired_ratio(taken[gloo], taken["overlap"]),
        "of_alone": paired_ratio(taken["overlap"], taken["alone"]),
    }


def main() -> int:
    args = _parse()
    nics = os.environ["RWLAB_NICS"].split(",")
    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    sequences = _enough_sequences(nics, args.sequences)
    alone = variants.Variant("alone", nics, sequences)
    alone.step()
    with Recorder() as recorder:
        recorded = [recorder.record(alone.step) for _ in range(3)]
    alone_s = greatest(median(step.seconds for step in recorded))
    mbit, comm_s = _rails_for(recorded[-1].calls, args.ratio * alone_s, nics)
    raw_gbps = rails.raw_gbps(args.programs)
    _say(f"step alone {alone_s:.2f} s ({sequences} sequences), {len(nics)} rails of {mbit} Mb/s, "
         f"raw {raw_gbps:.3f} Gb/s; its collectives alone {comm_s:.2f} s: ratio {comm_s / alone_s:.2f}")
    trace = trace_of(recorded)
    bound = bound_s(args.programs, as_overlapped(trace), raw_gbps)  # before the rounds, so that a failure shows at once
    all_variants = [alone, *(variants.Variant(name, nics, sequences) for name in variants.NAMES if name != "alone")]
    taken = _rounds(all_variants, args.rounds)
    losses = {variant.name: variant.losses for variant in all_variants}
    differ = losses_that_differ(losses["railweave"], losses["overlap"])
    if dist.get_rank() == 0 and args.json:
        summary = {**_summary(taken, bound), "communication_s": comm_s, "ratio": comm_s / alone_s,
                   "losses_differ": differ}
        document = {"ratio": args.ratio, "sequences": sequences, "rail_mbit": mbit, "raw_gbps": raw_gbps,
                    "trace": trace, "seconds": taken, "losses": losses, "torch": torch.__version__, "summary": summary}
        Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
