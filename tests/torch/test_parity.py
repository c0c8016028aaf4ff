"""Training with the backend gives the same losses over 20 steps as training in one process."""
from __future__ import annotations

import tempfile
import unittest
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed._functional_collectives import all_gather_tensor, all_reduce, reduce_scatter_tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import ranks
import training

_FLOAT32, _BF16, _BF16_OF_GLOO = 1e-5, 2e-2, 5e-3


def _redistributed(rank: int, size: int) -> None:
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(7.0 * 6).reshape(7, 6)
    by_rows = distribute_tensor(whole, mesh, [Shard(0)])
    assert torch.equal(by_rows.full_tensor(), whole)
    by_columns = by_rows.redistribute(mesh, [Shard(1)])
    assert torch.equal(by_columns.redistribute(mesh, [Replicate()]).to_local(), whole)
    partial = DTensor.from_local(whole * (rank + 1), mesh, [Partial()])
    summed = whole * (size * (size + 1) / 2)
    assert torch.equal(partial.redistribute(mesh, [Replicate()]).to_local(), summed)
    assert torch.equal(partial.redistribute(mesh, [Shard(0)]).full_tensor(), summed)


def _saved_and_loaded(rank: int, size: int, folder: str) -> None:
    del rank
    model = training.new_model()
    fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
    before = {name: value.full_tensor() for name, value in model.state_dict().items()}
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=folder)
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    state = {"model": model.state_dict()}
    checkpoint.load(state, checkpoint_id=folder)
    model.load_state_dict(state["model"])
    for name, value in model.state_dict().items():
        assert torch.equal(value.full_tensor(), before[name]), name


def _functional(rank: int, size: int, compiler: str) -> None:
    group = dist.group.WORLD

    def computed(tensor: torch.Tensor) -> torch.Tensor:
        everyone = all_gather_tensor(tensor, 0, group)
        return all_reduce(reduce_scatter_tensor(everyone * 2, "sum", 0, group), "sum", group) + 1

    mine = torch.full((4,), float(rank))
    found = (torch.compile(computed, backend=compiler, fullgraph=True) if compiler else computed)(mine)
    torch.testing.assert_close(found + 0, torch.full((4,), 2.0 * size * (size * (size - 1) / 2) + 1))


class ParityTest(unittest.TestCase):
    def assert_as_alone(self, body: Callable[..., Any], size: int, *args: Any, tolerance: float = _FLOAT32,
                        alone: dict[str, Any] | None = None) -> None:
        expected = ranks.run(lambda rank, _: training.alone(**(alone or {})), 1)[0]
        for found in ranks.run(body, size, *args):
            self.assert_losses(found, expected, tolerance)

    def assert_losses(self, found: training.Losses, expected: training.Losses, tolerance: float) -> None:
        self.assertEqual(training.STEPS, len(found))
        self.assertLess(expected[-1], expected[0])  # the model learns
        for step, (one, other) in enumerate(zip(found, expected)):
            self.assertLess(abs(one - other) / other, tolerance, f"step {step}: {one} instead of {other}")

    def test_ddp(self) -> None:
        self.assert_as_alone(training.ddp, 2, {})

    def test_ddp_with_unused_parameters(self) -> None:
        self.assert_as_alone(training.ddp, 2, {"skips_spare": True}, alone={"skips_spare": True})

    def test_ddp_with_accumulated_gradients(self) -> None:
        self.assert_as_alone(training.ddp, 2, {"accumulated": 3}, alone={"accumulated": 3})

    def test_zero_redundancy_optimizer(self) -> None:
        self.assert_as_alone(training.zero_redundancy, 2)

    def test_fsdp1(self) -> None:
        for strategy, size in (("FULL_SHARD", 2), ("SHARD_GRAD_OP", 2), ("NO_SHARD", 2), ("HYBRID_SHARD", 4)):
            with self.subTest(strategy=strategy):
                self.assert_as_alone(training.fsdp1, size, strategy)

    def test_fsdp2(self) -> None:
        for options, size in (({}, 2), ({"reshard": False}, 2), ({"prefetch": True}, 2), ({"hybrid": True}, 4)):
            with self.subTest(**options):
                self.assert_as_alone(training.fsdp2, size, options)

    def test_fsdp2_in_bf16(self) -> None:
        options = {"bf16": True}
        self.assert_as_alone(training.fsdp2, 2, options, tolerance=_BF16)
        by_gloo = ranks.run(training.fsdp2, 2, options, backend="gloo")[0]
        self.assert_losses(ranks.run(training.fsdp2, 2, options)[0], by_gloo, _BF16_OF_GLOO)

    def test_redistribute(self) -> None:
        for size in (2, 3):
            ranks.run(_redistributed, size)

    def test_tensor_parallel(self) -> None:
        self.assert_as_alone(training.tensor_parallel, 2)

    def test_checkpoint(self) -> None:
        with tempfile.TemporaryDirectory(prefix="railweave-test-") as folder:
            ranks.run(_saved_and_loaded, 2, folder)

    def test_functional_collectives(self) -> None:
        for compiler in ("", "aot_eager", "inductor"):
            with self.subTest(compiler=compiler):
                ranks.run(_functional, 2, compiler)


if __name__ == "__main__":
    unittest.main()
