"""Times a step's collectives without its compute."""
from __future__ import annotations

import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

_REPEATS = 3


def seconds(operations: list[dict[str, Any]]) -> float:
    """Returns the time of the operations on the default group, all issued at once, on touched memory: the median of
    three. Reads "name" ("all-gather", "reduce-scatter") and "bytes" (of the tensor with all ranks' parts) of each."""
    ranks, memory = dist.get_world_size(), []
    for operation in operations:
        whole = torch.ones(operation["bytes"] // 4)
        memory.append((operation["name"], whole, torch.ones(len(whole) // ranks)))
    taken = []
    for _ in range(_REPEATS):
        dist.barrier()
        begin = time.perf_counter()
        works = [dist.all_gather_single(whole, part, async_op=True) if name == "all-gather" else
                 dist.reduce_scatter_single(part, whole, async_op=True) for name, whole, part in memory]
        for work in works:
            work.wait()
        taken.append(time.perf_counter() - begin)
    return median(taken)
