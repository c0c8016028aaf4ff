"""One rank of the demo's training: found by RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. Rank 0 writes what it measured,
and a line of progress for every step."""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402

from demo import back_to_back, gpt, text  # noqa: E402
from demo.watch import Watch  # noqa: E402
from lab.inside import parse_as_rank  # noqa: E402

VARIANTS = ("alone", "gloo", "railweave", "overlap")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="trainer", description=__doc__)
    add = parser.add_argument
    add("--variant", choices=VARIANTS, default="overlap",
        help="gloo; railweave; overlap: railweave beside compute; alone: collectives that move nothing (overlap)")
    add("--steps", type=int, default=10, help="number of steps (10)")
    add("--sequences", type=int, default=4, help="number of sequences of each rank in a step (4)")
    add("--progress", help="append a line of JSON for each step")
    add("--json", metavar="FILE", help="write the results to this file")
    args = parse_as_rank(parser)
    if args.steps < 2:
        parser.error(f"--steps: expected 2 or more (the first does not count), found {args.steps}")
    return args


def _join(variant: str) -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if variant == "alone":
        from torch.testing._internal.distributed.fake_pg import FakeStore  # registers "fake"
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
        return
    if variant != "gloo":
        import railweave.fsdp  # noqa: F401  registers the backend
    dist.init_process_group("gloo" if variant == "gloo" else "railweave")


def _sharded(variant: str, shape: gpt.Shape) -> nn.Module:
    torch.manual_seed(1)
    model = gpt.GPT(shape)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if variant == "overlap":
        import railweave.fsdp
        railweave.fsdp.overlap(model)
    return model


def _watch(variant: str) -> Watch:
    watch = Watch()
    if variant == "overlap":
        from railweave import _fsdp2
        watch.functions(_fsdp2, all_gather="all-gather", reduce_scatter="reduce-scatter")
    else:
        watch.functions(dist, all_gather_single="all-gather", reduce_scatter_single="reduce-scatter")
    return watch


def _rail_bytes() -> dict[str, int]:
    """Returns the bytes received so far, by NIC."""
    nics = os.environ.get("RWLAB_NICS", "lo").split(",")
    return {nic: int(Path(f"/sys/class/net/{nic}/statistics/rx_bytes").read_text()) for nic in nics}


def _mean(variant: str, loss: torch.Tensor) -> float | None:
    """Returns the mean over the ranks; None for "alone", which learns nothing."""
    if variant == "alone":
        return None
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def main() -> int:
    args = _parse()
    torch.set_num_threads(1)
    _join(args.variant)
    rank, ranks, shape = dist.get_rank(), dist.get_world_size(), gpt.Shape()
    model = _sharded(args.variant, shape)
    watch = _watch(args.variant)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
    data = text.load()
    steps = []
    for number in range(args.steps):
        before = _rail_bytes()
        watch.begin()
        given, expected = text.batch(data, number, rank, args.sequences, shape.length)
        loss = nn.functional.cross_entropy(model(given).flatten(0, 1), expected.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step = watch.end().plain()
        received = {nic: count - before[nic] for nic, count in _rail_bytes().items()}
        steps.append({**step, "loss": _mean(args.variant, loss), "received": received})
        if rank == 0 and args.progress:
            tokens = ranks * args.sequences * shape.length
            line = {"variant": args.variant, "step": number + 1, "of": args.steps, "loss": steps[-1]["loss"],
                    "seconds": step["seconds"], "tokens_per_s": tokens / step["seconds"]}
            with open(args.progress, "a", encoding="utf-8") as sink:
                sink.write(json.dumps(line) + "\n")
    operations = watch.step.operations
    communication_s = back_to_back.seconds(operations) if args.variant != "alone" else 0.0
    if rank == 0 and args.json:
        count = sum(parameter.numel() for parameter in model.parameters())
        Path(args.json).write_text(json.dumps({"variant": args.variant, "parameters": count,
                                               "communication_s": communication_s, "steps": steps}, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = os.environ.get("RWLAB_NICS", "lo")  # the shell's own value names interfaces
                                                                           # outside the lab
    sys.exit(main())
