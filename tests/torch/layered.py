"""A model whose layers note in a diary when they compute, and Works that note when they are waited for."""
from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint

LAYERS, WIDTH = 6, 8


class Layer(nn.Module):
    """Appends "layer N" to `diary` when it computes, and "back N" in backward."""

    def __init__(self, number: int, diary: list[str]) -> None:
        super().__init__()
        self.linear, self.number, self.diary = nn.Linear(WIDTH, WIDTH), number, diary

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.diary.append(f"layer {self.number}")
        y = torch.tanh(self.linear(x))
        if y.requires_grad:
            y.register_hook(lambda grad: self.diary.append(f"back {self.number}"))
        return y


def layered(diary: list[str], size: int) -> nn.Sequential:
    torch.manual_seed(3)
    model = nn.Sequential(*(Layer(number, diary) for number in range(LAYERS)))
    mesh = init_device_mesh("cpu", (size,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


class LoggedWork:
    """A Work that appends to the diary when it is waited for."""

    def __init__(self, work: Any, name: str, diary: list[str]) -> None:
        self._work, self.name, self._diary = work, name, diary

    def wait(self) -> None:
        self._diary.append(f"waited {self.name}")
        self._work.wait()


def logged(reduce: Any, diary: list[str], every: int = 10_000) -> Any:
    """Returns `reduce` with an entry in the diary for each call and each wait. The calls have numbers from 0, and after
    `every` calls from 0 again."""
    reduced = itertools.count()

    def logged_reduce(*args: Any, **kwargs: Any) -> LoggedWork:
        name = f"reduce {next(reduced) % every}"
        diary.append(name)
        return LoggedWork(reduce(*args, **kwargs), name, diary)

    return logged_reduce


class Pairs(nn.Module):
    """Layers that are checkpointed in pairs: only the input of a pair is kept for backward."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for first in range(0, LAYERS, 2):
            x = checkpoint(lambda y, at=first: self.layers[at + 1](self.layers[at](y)), x, use_reentrant=False)
        return x
