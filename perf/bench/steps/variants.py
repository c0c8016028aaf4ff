"""The demo's model in one process, once for each way to communicate: "alone" (nothing is sent), Gloo over one rail and
over all, railweave, railweave overlapped."""
from __future__ import annotations

import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed import fake_pg  # noqa: F401  registers "fake"

import railweave  # noqa: F401  registers the backend
import railweave.fsdp
from demo import gpt, text

NAMES = ("alone", "gloo_one_rail", "gloo", "railweave", "overlap")


def _group(name: str, nics: list[str]) -> dist.ProcessGroup:
    """Makes the variant's group. Gloo reads its interfaces from the environment when a group is made."""
    if name == "alone":
        return dist.new_group(backend="fake")
    if name.startswith("gloo"):
        os.environ["GLOO_SOCKET_IFNAME"] = nics[0] if name == "gloo_one_rail" else ",".join(nics)
        return dist.new_group(backend="gloo")
    return dist.new_group(backend="railweave")


class Variant:
    """A model, its optimizer and its group. Every rank makes variants and steps in the same order."""

    def __init__(self, name: str, nics: list[str], sequences: int) -> None:
        self.name, self.group, self._sequences = name, _group(name, nics), sequences
        shape = gpt.Shape()
        torch.manual_seed(1)
        model: nn.Module = gpt.GPT(shape)
        mesh = DeviceMesh.from_group(self.group, "cpu")
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        if name == "overlap":
            railweave.fsdp.overlap(model)
        self._model, self._length = model, shape.length
        self._optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
        self._data, self._number = text.load(), 0
        self.losses: list[float] = []

    def step(self, mark=lambda: None) -> float:
        """Returns the seconds of the next step, which both ranks begin together. Calls `mark` at the beginning and
        between forward and backward."""
        given, expected = text.batch(self._data, self._number, dist.get_rank(), self._sequences, self._length)
        self._number += 1
        dist.barrier()
        begin = time.perf_counter()
        mark()
        loss = nn.functional.cross_entropy(self._model(given).flatten(0, 1), expected.flatten())
        mark()
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()
        seconds = time.perf_counter() - begin
        self.losses.append(loss.item())
        return seconds
