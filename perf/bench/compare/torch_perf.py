"""Times the same operations through torch, over Gloo or our backend. One rank, found by RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT.

Equal to perf/programs/collective and mpi_perf are the sizes and their rounding, the rotation of memory, and the mean
over ranks of the mean over iterations. GLOO_SOCKET_IFNAME names the interfaces; the caller sets it to all of the
host's."""
from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from bench.sizes import parse_size  # noqa: E402

# Prefers the names of torch 2.13: the warning about the old ones takes microseconds.
_gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
_scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
_FLOAT_BYTES = 4


class Job:
    """Memory for the largest size. An operation uses successive parts of it."""

    def __init__(self, operation: str, largest: int) -> None:
        self.operation, self.ranks = operation, dist.get_world_size()
        self.capacity = self.rounded(largest) // _FLOAT_BYTES
        self.send = torch.ones(max(self.capacity, 1), dtype=torch.float32)
        self.receive = torch.zeros(max(self.capacity, 1), dtype=torch.float32)

    def rounded(self, size: int) -> int:
        """Rounds a size as nccl-tests and perf/programs/collective do."""
        if self.operation == "all_reduce":
            return size // _FLOAT_BYTES * _FLOAT_BYTES
        return size // self.ranks // 16 * 16 * self.ranks

    def once(self, size: int, index: int) -> None:
        count = size // _FLOAT_BYTES
        at = index % max(self.capacity // count if count else 1, 1) * count
        share = count // self.ranks
        if self.operation == "all_gather":
            _gather(self.receive[at:at + count], self.send[at:at + share])
        elif self.operation == "reduce_scatter":
            _scatter(self.receive[at:at + share], self.send[at:at + count])
        else:
            dist.all_reduce(self.receive[at:at + count])

    def measure(self, asked: int, iterations: int) -> dict:
        size = self.rounded(asked)
        self.once(size, 0)
        dist.barrier()
        start = time.perf_counter()
        for index in range(iterations):
            self.once(size, index)
        mine_s = torch.tensor([(time.perf_counter() - start) / iterations], dtype=torch.float64)
        dist.all_reduce(mine_s)
        seconds = mine_s.item() / self.ranks
        algbw = size / seconds / 1e9
        busbw = algbw * (self.ranks - 1) / self.ranks * (2 if self.operation == "all_reduce" else 1)
        return {"size": size, "out_of_place": {"time": seconds * 1e6, "alg_bw": algbw, "bus_bw": busbw}}


def _parse() -> argparse.Namespace:
    about = "Times a backend of torch on float32, as perf/programs/collective times ours."
    parser = argparse.ArgumentParser(prog="torch_perf", description=about)
    add = parser.add_argument
    add("--backend", choices=["gloo", "railweave"], default="railweave")
    add("--operation", choices=["all_gather", "reduce_scatter", "all_reduce"], default="all_reduce")
    add("-b", "--minbytes", type=parse_size, default=8, help="smallest size; each next one is twice as large (8)")
    add("-e", "--maxbytes", type=parse_size, default=1 << 20, help="largest size (1M)")
    add("-n", "--iters", type=int, default=20, help="timed iterations at each size (20)")
    add("-w", "--warmup_iters", type=int, default=1, help="iterations before the timed ones (1)")
    add("--json", metavar="FILE", help="write the results to this file")
    return parser.parse_args()


def main() -> int:
    args = _parse()
    warnings.simplefilter("ignore", FutureWarning)  # about names that later versions will drop
    torch.set_num_threads(1)
    if args.backend == "railweave":
        import railweave  # noqa: F401  registers it
    dist.init_process_group(args.backend, timeout=timedelta(seconds=120))
    sizes = [args.minbytes << n for n in range(64) if args.minbytes << n <= args.maxbytes]
    job = Job(args.operation, args.maxbytes)
    for size in sizes:
        for index in range(args.warmup_iters):
            job.once(job.rounded(size), index)
    document = {"program": "torch_perf", "backend": args.backend, "operation": args.operation,
                "library": f"torch {torch.__version__}", "results": []}
    for size in sizes:
        document["results"].append(job.measure(size, args.iters))
        if dist.get_rank() == 0:
            figures = document["results"][-1]["out_of_place"]
            print(f"{size:12} {figures['time']:12.2f} {figures['alg_bw']:10.3f} {figures['bus_bw']:10.3f}", flush=True)
    if dist.get_rank() == 0 and args.json:
        with open(args.json, "w", encoding="utf-8") as sink:
            json.dump(document, sink, indent=1)
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", os.environ.get("RWLAB_NICS", "lo"))
    sys.exit(main())
