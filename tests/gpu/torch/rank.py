"""The parts of tests/gpu/torch/run. `operations` starts ranks of its own; `order` and `fsdp2` are one rank of two. Each
prints its answer as JSON."""

import argparse
import json
import os
import statistics
import sys
import time
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "torch"
sys.path.insert(0, str(TESTS))

STEPS = 20
ROUNDS = 50
SLOW_CYCLES = 2_000_000


def operations():
    """Runs the operations of tests/torch on the GPU. This process must not use the GPU, because it forks the ranks."""
    import ranks
    import test_operations
    import torch

    among_ranks = ranks.run

    def on_gpu(body, size, *args, **options):
        def of_rank(*given):
            torch.cuda.set_device(0)
            torch.set_default_device("cuda")
            return body(*given)

        of_rank.__name__ = body.__name__
        return among_ranks(of_rank, size, *args, **options)

    ranks.run = on_gpu
    for case in vars(test_operations).values():  # on a GPU every tensor is copied, to the host and back
        if isinstance(case, type) and issubclass(case, unittest.TestCase):
            for name in [name for name in vars(case) if name.endswith("_are_not_copied")]:
                delattr(case, name)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(test_operations))
    if not result.wasSuccessful() or result.skipped or result.testsRun == 0:
        sys.exit(1)
    return {"tests": result.testsRun}


def order(torch, dist, rank, world):
    """Streams alone keep kernels before and after each operation in order. The host synchronizes once, at the end."""
    total = world * (world - 1) // 2
    found, expected = [], []
    streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    for turn in range(ROUNDS):
        stream = streams[turn % len(streams)]
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLOW_CYCLES)
            data = torch.full((100_003,), rank + turn, dtype=torch.int64, device="cuda")
            work = dist.all_reduce(data, async_op=True)
            other = torch.full((4096,), -1, device="cuda")  # memory that the operation must not be using
            work.wait()
            found.append(data.sum())
            part = torch.full((1001,), rank + turn, dtype=torch.int32, device="cuda")
            whole = torch.empty((world, 1001), dtype=torch.int32, device="cuda")
            dist.all_gather_into_tensor(whole, part)
            del part, other
            found.append(whole.sum())
        expected += [100_003 * (total + world * turn), 1001 * (total + world * turn)]
    torch.cuda.synchronize()
    wrong = [i for i, (a, b) in enumerate(zip(found, expected)) if a.item() != b]
    if wrong:
        raise SystemExit(f"rank {rank}: results {wrong[:10]} of {len(found)} are wrong")
    return {"operations": len(found)}


def fsdp2(torch, dist, rank, world):
    """Returns the losses of a small sharded model, and the median time of a step."""
    import training
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (world,))
    model = training.new_model().cuda()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    losses, seconds = [], []
    for step in range(STEPS):
        words = torch.randint(40, (8, 7), generator=torch.Generator().manual_seed(step % 2)).chunk(world)[rank].cuda()
        began = time.perf_counter()
        scores = model(words[:, :-1], True)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach().double())
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    means = torch.stack(losses)
    dist.all_reduce(means)
    return {"losses": (means / world).tolist(), "step_ms": statistics.median(seconds) * 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["operations", "order", "fsdp2"])
    parser.add_argument("--backend", default="railweave", choices=["railweave", "nccl"])
    args = parser.parse_args()
    if args.part == "operations":
        print(json.dumps(operations()))
        return 0
    import torch
    import torch.distributed as dist

    import railweave

    if args.backend == "nccl":
        railweave.enable_nccl_plugin()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(0)
    torch.manual_seed(0)
    dist.init_process_group(args.backend, init_method="file://" + os.environ["MEETING"], rank=rank, world_size=world)
    answer = {"order": order, "fsdp2": fsdp2}[args.part](torch, dist, rank, world)
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
