"""Trains a small model in one process and sharded in every way. test_parity.py and test_overlap.py compare the
losses."""
from __future__ import annotations

from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (FSDPModule, FullyShardedDataParallel, MixedPrecisionPolicy, ShardingStrategy,
                                    fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import railweave.fsdp

STEPS = 20
_BATCH, _WORDS, _WIDTH, _LENGTH = 8, 40, 24, 6
Losses = list[float]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(_WIDTH)
        self.up, self.down = nn.Linear(_WIDTH, 2 * _WIDTH), nn.Linear(2 * _WIDTH, _WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    """Predicts each word's successor. `spare` is a layer that some trainings use in every other step only."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_WORDS, _WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.spare = nn.Linear(_WIDTH, _WIDTH)
        self.head = nn.Linear(_WIDTH, _WORDS)

    def forward(self, words: torch.Tensor, with_spare: bool) -> torch.Tensor:
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x)
        return self.head(self.spare(x) if with_spare else x)


def new_model() -> Model:
    torch.manual_seed(1)
    return Model()


def _batch(step: int) -> torch.Tensor:
    """Returns one of two batches, so that there is something to learn."""
    return torch.randint(_WORDS, (_BATCH, _LENGTH + 1), generator=torch.Generator().manual_seed(step % 2))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, rank: int = 0, size: int = 1, skips_spare: bool = False,
          accumulated: int = 1, steps: int = STEPS) -> Losses:
    """Returns the losses over the whole batch. Each rank computes an equal part; a loss is the mean of the parts'
    means."""
    losses = []
    for step in range(steps):
        total = 0.0
        for piece in range(accumulated):
            words = _batch(step * accumulated + piece).chunk(size)[rank]
            ends = piece == accumulated - 1
            if isinstance(model, FSDPModule):
                model.set_requires_gradient_sync(ends)
            quiet = isinstance(model, DistributedDataParallel) and not ends
            with model.no_sync() if quiet else torch.enable_grad():
                scores = model(words[:, :-1], not skips_spare or step % 2 == 0)
                loss = nn.functional.cross_entropy(scores.flatten(0, 1).float(), words[:, 1:].flatten()) / accumulated
                loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
    if size > 1:
        summed = torch.tensor(losses, dtype=torch.float64)
        dist.all_reduce(summed, dist.ReduceOp.AVG)
        losses = summed.tolist()
    return losses


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    # Without foreach, because parameters may be of several kinds.
    return torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5, foreach=False)


def tensor_parallel(rank: int, size: int) -> Losses:
    """Every rank has the whole batch and a part of each block."""
    del rank
    model, mesh = new_model(), init_device_mesh("cpu", (size,))
    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return train(model, sgd(model))


def alone(**options: Any) -> Losses:
    model = new_model()
    return train(model, sgd(model), **options)


def ddp(rank: int, size: int, options: dict[str, Any]) -> Losses:
    model = DistributedDataParallel(new_model(), find_unused_parameters=options.get("skips_spare", False))
    return train(model, sgd(model), rank, size, **options)


def zero_redundancy(rank: int, size: int) -> Losses:
    model = DistributedDataParallel(new_model())
    return train(model, ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.3, momentum=0.5), rank, size)


def fsdp1(rank: int, size: int, strategy: str, overlap: dict[str, Any] | None = None) -> Losses:
    hybrid = strategy == "HYBRID_SHARD"
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("replica", "shard")) if hybrid else None
    model = FullyShardedDataParallel(new_model(), sharding_strategy=ShardingStrategy[strategy], device_mesh=mesh,
                                     auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.device("cpu"))
    if overlap is not None:
        railweave.fsdp.overlap(model, **overlap)
    return train(model, sgd(model), rank, size)


def fsdp2_model(size: int, options: dict[str, Any]) -> Model:
    """Returns a new model, sharded. The options are those of fsdp2()."""
    shape, names = ((2, size // 2), ("replica", "shard")) if options.get("hybrid") else ((size,), ("shard",))
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    policy = MixedPrecisionPolicy()
    if options.get("bf16"):
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if "reduce_dtype" in options:
        policy = MixedPrecisionPolicy(reduce_dtype=options["reduce_dtype"])
    model = new_model()
    kept = {"mesh": mesh, "reshard_after_forward": options.get("reshard", True), "mp_policy": policy}
    for block in model.blocks:
        fully_shard(block, **kept)
    fully_shard(model, **kept)
    if options.get("prefetch"):
        blocks = list(model.blocks)
        for before, after in zip(blocks, blocks[1:]):
            before.set_modules_to_forward_prefetch([after])
            after.set_modules_to_backward_prefetch([before])
    if "overlap" in options:
        railweave.fsdp.overlap(model, **options["overlap"])
    return model


def fsdp2(rank: int, size: int, options: dict[str, Any]) -> Losses:
    model = fsdp2_model(size, options)
    return train(model, sgd(model), rank, size, accumulated=options.get("accumulated", 1))


