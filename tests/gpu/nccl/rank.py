"""One rank of tests/gpu/nccl/run: every collective from 8 B to --max-bytes, checked, then timed. Rank 0 prints JSON."""

import argparse
import json
import os
import statistics
import sys
import time

CHECKS = 3


def expected_sum(torch, base, world):
    return base * world + sum(range(world))


class Collective:
    """prepare() fills the tensors of a turn, run() does the operation, and check() returns whether the result is right.
    The elements are integers, so nothing is rounded."""

    def __init__(self, torch, dist, rank, world, count):
        self.torch, self.dist, self.rank, self.world, self.count = torch, dist, rank, world, count
        self.positions = torch.arange(count, dtype=torch.int32, device="cuda") % 1000


class AllReduce(Collective):
    name = "all_reduce"

    def prepare(self, turn):
        self.base = self.positions + turn
        self.data = self.base + self.rank

    def run(self):
        self.dist.all_reduce(self.data)

    def check(self):
        return self.torch.equal(self.data, expected_sum(self.torch, self.base, self.world))


class AllGather(Collective):
    name = "all_gather"

    def prepare(self, turn):
        self.turn = turn
        self.part = self.positions[: max(self.count // self.world, 1)] + turn + 7 * self.rank
        self.whole = self.torch.full((self.part.numel() * self.world,), -1, dtype=self.torch.int32, device="cuda")

    def run(self):
        self.dist.all_gather_into_tensor(self.whole, self.part)

    def check(self):
        part = self.positions[: self.part.numel()] + self.turn
        return self.torch.equal(self.whole, self.torch.cat([part + 7 * r for r in range(self.world)]))


class ReduceScatter(Collective):
    name = "reduce_scatter"

    def prepare(self, turn):
        size = max(self.count // self.world, 1) * self.world
        self.base = (self.torch.arange(size, dtype=self.torch.int32, device="cuda") % 1000) + turn
        self.whole = self.base + self.rank
        self.part = self.torch.full((size // self.world,), -1, dtype=self.torch.int32, device="cuda")

    def run(self):
        self.dist.reduce_scatter_tensor(self.part, self.whole)

    def check(self):
        mine = self.base.chunk(self.world)[self.rank]
        return self.torch.equal(self.part, expected_sum(self.torch, mine, self.world))


class SendRecv(Collective):
    name = "send_recv"

    def prepare(self, turn):
        self.turn = turn
        self.out = self.positions + turn + 11 * self.rank
        self.into = self.torch.full_like(self.out, -1)

    def run(self):
        peer = 1 - self.rank
        operations = [self.dist.P2POp(self.dist.isend, self.out, peer),
                      self.dist.P2POp(self.dist.irecv, self.into, peer)]
        for work in self.dist.batch_isend_irecv(operations):
            work.wait()

    def check(self):
        return self.torch.equal(self.into, self.positions + self.turn + 11 * (1 - self.rank))


def measure(torch, dist, collective, seconds):
    """Returns the median time of one call in µs, over as many calls as fit into `seconds`. Rank 0 chooses the number.
    Exits if a checked result is wrong."""
    for turn in range(CHECKS):
        collective.prepare(turn)
        collective.run()
        torch.cuda.synchronize()
        if not collective.check():
            raise SystemExit(f"{collective.name} of {4 * collective.count} bytes, turn {turn}: "
                             f"wrong data at rank {collective.rank}")
    start = time.perf_counter()
    collective.run()
    torch.cuda.synchronize()
    calls = torch.tensor([min(max(int(seconds / (time.perf_counter() - start)), 5), 1000)], device="cuda")
    dist.broadcast(calls, 0)
    samples = []
    for _ in range(int(calls.item())):
        start = time.perf_counter()
        collective.run()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - start) * 1e6)
    return statistics.median(samples)


def sizes(largest):
    return [8 << shift for shift in range(0, 40, 3) if 8 << shift < largest] + [largest]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-bytes", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--collective", action="append")
    args = parser.parse_args()
    import torch
    import torch.distributed as dist

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method="file://" + os.environ["MEETING"], rank=rank, world_size=world)
    rows = []
    kinds = [kind for kind in (AllReduce, AllGather, ReduceScatter, SendRecv)
             if kind.name in (args.collective or [kind.name])]
    for kind in kinds:
        for size in sizes(args.max_bytes):
            median_us = measure(torch, dist, kind(torch, dist, rank, world, size // 4), args.seconds)
            rows.append({"op": kind.name, "bytes": size, "median_us": median_us, "gb_per_s": size / median_us / 1e3})
    if rank == 0:
        print(json.dumps({"rows": rows}))
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
