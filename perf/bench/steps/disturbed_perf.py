"""FSDP training while rails fail, return and slow down at random, and the same steps again on rails that nobody
touches: at how many steps a loss differs by a bit. One of two ranks, found by RANK and what tools/lab sets, in a lab
whose ranks meet by --management."""
from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402

import railweave.fsdp  # noqa: E402
from demo import gpt, text  # noqa: E402
from bench.faults.disturbances import Disturber  # noqa: E402
from lab import state  # noqa: E402
from bench.steps import rails  # noqa: E402
from bench.steps.at_least import at_least  # noqa: E402
from bench.steps.command_line import command_line, parse_step  # noqa: E402
from bench.steps.over_ranks import greatest, losses_that_differ  # noqa: E402

# On rails of 1 Gb/s a step is mostly communication.
_SHAPE = gpt.Shape(layers=4, width=512, heads=4, length=16)
_FAST_MBIT = 40_000  # of undisturbed rails: shorter waits


class Training:
    """The same training on any rails."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self._data = text.load()
        torch.manual_seed(1)
        self._model: nn.Module = gpt.GPT(_SHAPE)
        for block in self._model.blocks:
            fully_shard(block)
        fully_shard(self._model)
        railweave.fsdp.overlap(self._model)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=6e-4)

    def step(self) -> None:
        given, expected = text.batch(self._data, len(self.losses), dist.get_rank(), 1, _SHAPE.length)
        loss = nn.functional.cross_entropy(self._model(given).flatten(0, 1), expected.flatten())
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.losses.append(loss.item())


def _disturbed(seconds: float, disturber: Disturber | None) -> tuple[Training, list[float]]:
    """Trains until rank 0's time is over. Returns the training and the end of each step."""
    training, ends = Training(), []
    begin_s = time.monotonic()
    if disturber:
        disturber.start()
    try:
        while greatest(float(disturber is not None and time.monotonic() - begin_s < seconds)):
            training.step()
            ends.append(time.monotonic() - begin_s)
    finally:
        if disturber:
            disturber.stop()
    return training, ends


def main() -> int:
    parser = command_line("disturbed_perf", __doc__, programs=False)
    parser.add_argument("--seconds", type=at_least(1, float), default=600,
                        help="length of the disturbed training (600)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the disturbances (1)")
    args = parse_step(parser, rails=2)
    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    disturber = Disturber(state.load(os.environ["RWLAB"]), args.seed) if dist.get_rank() == 0 else None
    disturbed, ends = _disturbed(args.seconds, disturber)
    rails.set_rates({0: _FAST_MBIT, 1: _FAST_MBIT})
    undisturbed = Training()
    for _ in disturbed.losses:
        undisturbed.step()
    differ = losses_that_differ(disturbed.losses, undisturbed.losses)
    longest_s = greatest(max(after - before for before, after in zip([0.0, *ends], ends)))
    if disturber:
        summary = {"losses_differ": differ, "steps": len(ends), "disturbances": len(disturber.happened),
                   "longest_step_s": longest_s}
        print(json.dumps(summary))
        if args.json:
            document = {"seed": args.seed, "disturbances": [dataclasses.asdict(one) for one in disturber.happened],
                        "step_ends_s": ends, "losses": disturbed.losses, "torch": torch.__version__, "summary": summary}
            Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
