"""Combines the values of all ranks. REQUIRES: torch.distributed is initialised."""
from __future__ import annotations

import torch
import torch.distributed as dist


def greatest(value: float) -> float:
    tensor = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return tensor.item()


def greatest_of_each(values: list[float]) -> list[float]:
    """Every rank passes equally many values."""
    tensor = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return tensor.tolist()


def of_every_rank(value: float) -> list[float]:
    """Returns the values by rank."""
    found = [torch.zeros((), dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(found, torch.tensor(value, dtype=torch.float64))
    return [tensor.item() for tensor in found]


def losses_that_differ(some: list[float], others: list[float]) -> int:
    """Returns the number of steps whose losses are not equal to the bit, on the rank with the most. Raises ValueError
    unless both lists are equally long."""
    return int(greatest(sum(a != b for a, b in zip(some, others, strict=True))))
