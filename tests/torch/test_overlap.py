"""railweave.fsdp.overlap: collectives run beside compute, and every computed value stays the same."""
from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

import railweave
import railweave.fsdp
from railweave._buffers import Buffers
import ranks
import training
from layered import LAYERS, WIDTH, Layer, Pairs, layered, logged


def _diary_of_a_step(rank: int, size: int, options: dict[str, int]) -> list[str]:
    """Returns the events of the second step. The first step records the order of layers."""
    del rank
    diary: list[str] = []
    gather, logged_reduce = railweave._fsdp2.all_gather, logged(railweave._fsdp2.reduce_scatter, diary, LAYERS)

    def told_gather(*args: Any, **kwargs: Any) -> Any:
        diary.append("gather")
        return gather(*args, **kwargs)

    with mock.patch.object(railweave._fsdp2, "all_gather", told_gather), \
            mock.patch.object(railweave._fsdp2, "reduce_scatter", logged_reduce):
        model = railweave.fsdp.overlap(layered(diary, size), **options)
        for _ in range(2):
            diary.clear()
            model(torch.ones(2, WIDTH)).sum().backward()
            diary.append("end of backward")
            for parameter in model.parameters():
                parameter.grad = None
    return diary


def _diary_of_fsdp1(rank: int, size: int) -> list[str]:
    """Returns the events of the reduce-scatters of a backward."""
    del rank, size
    diary: list[str] = []
    logged_reduce = logged(railweave._fsdp1.reduce_scatter, diary)

    torch.manual_seed(3)
    model = FullyShardedDataParallel(nn.Sequential(*(Layer(number, []) for number in range(LAYERS))),
                                     auto_wrap_policy=ModuleWrapPolicy({Layer}), device_id=torch.device("cpu"))
    with mock.patch.object(railweave._fsdp1, "reduce_scatter", logged_reduce):
        railweave.fsdp.overlap(model)
        model(torch.ones(2, WIDTH)).sum().backward()
        diary.append("end of backward")
    return diary


def _gathers_before(diary: list[str], event: str) -> int:
    return diary[:diary.index(event)].count("gather")


def _checkpointed(rank: int, size: int, overlapped: bool) -> tuple[list[list[float]], int]:
    """Returns the gradients, and the largest number of reduce-scatters that were unfinished at once."""
    model = Pairs(nn.Sequential(*layered([], size)))
    fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
    unfinished = most = 0

    class Counted:
        def __init__(self, work: Any) -> None:
            self._work = work

        def wait(self) -> None:
            nonlocal unfinished
            unfinished -= 1
            self._work.wait()

    def counted(*args: Any, **kwargs: Any) -> Counted:
        nonlocal unfinished, most
        unfinished += 1
        most = max(most, unfinished)
        return Counted(reduce(*args, **kwargs))

    reduce = railweave._fsdp2.reduce_scatter
    with mock.patch.object(railweave._fsdp2, "reduce_scatter", counted):
        if overlapped:
            railweave.fsdp.overlap(model, reduce_scatters=LAYERS)
        for _ in range(3):
            model.zero_grad()
            most = 0
            model(torch.full((2, WIDTH), rank + 1.0)).sum().backward()
    return [parameter.grad.to_local().tolist() for parameter in model.parameters()], most


def _by_hand(rank: int, size: int, overlapped: bool) -> list[list[float]]:
    """Returns the gradients if FSDP's hooks are called outside of backward, as a pipeline's stage calls them."""
    model = layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    model.set_requires_gradient_sync(False)
    model.set_reshard_after_backward(False)
    model(torch.full((2, WIDTH), rank + 1.0)).sum().backward()
    model.set_requires_gradient_sync(True)
    model.set_reshard_after_backward(True)
    for layer in model:
        for group in railweave._fsdp2._param_groups(layer):
            group.post_backward()
    return [parameter.grad.to_local().tolist() for parameter in model.parameters()]


def _shared_layer(rank: int, size: int, overlapped: bool) -> list[torch.Tensor]:
    """Returns the gradients of a layer that runs twice: the results of both reduce-scatters are added."""
    model = layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    for _ in range(2):
        model.zero_grad()
        y = model[1](model[0](torch.full((2, WIDTH), rank + 1.0)))
        model[0](y).sum().backward()
    return [parameter.grad.to_local() for parameter in model[0].parameters()]


def _priorities(rank: int, size: int) -> None:
    one = torch.full((3,), rank + 1.0)
    bulk = one.clone()
    with railweave.hints("bulk"):
        slow = dist.all_reduce(bulk, async_op=True)
    with railweave.hints("urgent"):
        dist.all_reduce(one)
    slow.wait()
    for found in (one, bulk):
        assert torch.equal(found, torch.full((3,), size * (size + 1) / 2)), found


def _overlapped(rank: int, size: int, options: dict[str, int]) -> None:
    del rank
    railweave.fsdp.overlap(layered([], size), **options)


def _overlapped_twice(rank: int, size: int) -> None:
    del rank
    railweave.fsdp.overlap(railweave.fsdp.overlap(layered([], size)))


def _overlapped_in_parts(rank: int, size: int, order: tuple[int, int]) -> None:
    """Calls overlap() for the model (0) and for one of its layers (1), in this order."""
    del rank
    model = layered([], size)
    for at in order:
        railweave.fsdp.overlap((model, model[1])[at])


def _fsdp1(strategy: str = "FULL_SHARD") -> FullyShardedDataParallel:
    return FullyShardedDataParallel(nn.Sequential(Layer(0, [])), sharding_strategy=ShardingStrategy[strategy],
                                    device_id=torch.device("cpu"))


def _overlapped_without_a_place(rank: int, size: int) -> None:
    del rank, size
    railweave.fsdp.overlap(_fsdp1("NO_SHARD"), window=1)


def _overlapped_within(rank: int, size: int, ran: bool) -> None:
    del rank, size
    inner = _fsdp1()
    outer = FullyShardedDataParallel(nn.Sequential(inner, nn.Linear(WIDTH, 2)), device_id=torch.device("cpu"))
    if ran:
        outer(torch.ones(2, WIDTH))
    railweave.fsdp.overlap(inner)
    outer(torch.ones(2, WIDTH))


class OverlapTest(unittest.TestCase):
    def test_losses_are_the_same_to_the_bit(self) -> None:
        for options, size in (({}, 2), ({"bf16": True}, 3), ({"hybrid": True}, 4), ({"accumulated": 2}, 2),
                              ({"reduce_dtype": torch.float16}, 2)):
            with self.subTest(**options):
                plain = ranks.run(training.fsdp2, size, options)
                for overlap in ({},) if options else ({}, {"prefetch": 3, "reduce_scatters": 1}, {"window": 1},
                                                      {"window": "100K"}, {"window": "auto"}):
                    self.assertEqual(plain, ranks.run(training.fsdp2, size, {**options, "overlap": overlap}))

    def test_losses_of_fsdp1_are_the_same_to_the_bit(self) -> None:
        for strategy, size, overlap in (("FULL_SHARD", 2, {}), ("FULL_SHARD", 4, {"reduce_scatters": 1}),
                                        ("SHARD_GRAD_OP", 3, {"window": 2})):
            with self.subTest(strategy=strategy, ranks=size):
                self.assertEqual(ranks.run(training.fsdp1, size, strategy),
                                 ranks.run(training.fsdp1, size, strategy, overlap))

    def test_reduce_scatters_of_fsdp1_are_waited_for_later(self) -> None:
        diary = ranks.run(_diary_of_fsdp1, 2)[0]
        self.assertEqual(["reduce 0", "reduce 1", "waited reduce 0", "reduce 2", "waited reduce 1"], diary[:5])
        self.assertEqual("end of backward", diary[-1])
        self.assertEqual(diary[-2], f"waited {diary[-4]}")

    def test_parameters_are_gathered_ahead(self) -> None:
        for ahead in (0, 1, 2, 3):
            diary = ranks.run(_diary_of_a_step, 2, {"prefetch": ahead})[0]
            for number in range(LAYERS):
                self.assertEqual(min(LAYERS, number + 1 + ahead), _gathers_before(diary, f"layer {number}"),
                                 f"{ahead} ahead: {diary}")

    def test_parameters_are_gathered_ahead_in_backward(self) -> None:
        for ahead in (1, 2, 3):
            diary = ranks.run(_diary_of_a_step, 2, {"prefetch": ahead})[0]
            backward = diary[diary.index(f"layer {LAYERS - 1}"):]
            # Layers whose parameters were kept after forward are not gathered again.
            for done, number in enumerate(reversed(range(LAYERS - 1)), start=1):
                self.assertEqual(min(LAYERS - ahead, done), _gathers_before(backward, f"back {number}"),
                                 f"{ahead} ahead: {diary}")

    def test_reduce_scatters_are_waited_for_when_the_next_wants_room(self) -> None:
        for most in (1, 2, 3):
            diary = ranks.run(_diary_of_a_step, 2, {"reduce_scatters": most})[0]
            for number in range(LAYERS):
                waited = diary.index(f"waited reduce {number}")
                before = f"reduce {number + most}"
                if number + most < LAYERS:
                    self.assertEqual(waited + 1, diary.index(before), f"at most {most}: {diary}")
                else:
                    self.assertGreater(waited, diary.index("back 0"), f"at most {most}: {diary}")
                self.assertLess(waited, diary.index("end of backward"))

    def test_hooks_called_by_hand(self) -> None:
        self.assertEqual(*(ranks.run(_by_hand, 2, overlapped) for overlapped in (False, True)))

    def test_buffers_are_given_again_when_nobody_has_them(self) -> None:
        buffers, cpu = Buffers(), torch.device("cpu")
        with torch.device("meta"):
            first = buffers.take((6,), torch.float32, cpu)
        self.assertEqual("cpu", first.device.type)
        part, where = first[2:], first.data_ptr()
        del first
        self.assertNotEqual(where, buffers.take((6,), torch.float32, cpu).data_ptr(), "a view has it")
        del part
        again = buffers.take((2, 6), torch.bfloat16, cpu)
        self.assertEqual(where, again.data_ptr())
        again.untyped_storage().resize_(0)
        del again
        self.assertEqual(24, buffers.take((6,), torch.float32, cpu).untyped_storage().nbytes())
        self.assertEqual(0, buffers.take((0,), torch.float32, cpu).numel())
        for _ in range(20):
            buffers.forward_begins()
        self.assertEqual([], buffers._kept)

    def test_layers_that_are_checkpointed_together(self) -> None:
        plain, overlapped = (ranks.run(_checkpointed, 2, overlap)[0] for overlap in (False, True))
        self.assertEqual(plain[0], overlapped[0])
        self.assertEqual(LAYERS, overlapped[1], "what is computed anew waits for none")

    def test_a_layer_that_runs_twice(self) -> None:
        self.assertEqual(*(self._gradients(_shared_layer, overlapped) for overlapped in (False, True)))

    def _gradients(self, body: Any, overlapped: bool) -> list[list[list[float]]]:
        return [[gradient.tolist() for gradient in of_rank] for of_rank in ranks.run(body, 2, overlapped)]

    def test_operations_of_different_priorities(self) -> None:
        ranks.run(_priorities, 3)

    def test_bad_arguments_are_named(self) -> None:
        with self.assertRaisesRegex(ranks.RankFailed, "TypeError: .*fully_shard.*Linear"):
            ranks.run(lambda rank, size: railweave.fsdp.overlap(nn.Linear(2, 2)), 1)
        with self.assertRaisesRegex(ranks.RankFailed, "ValueError: overlap: this model, or one"):
            ranks.run(_overlapped_twice, 1)
        for order in (0, 1), (1, 0):
            with self.assertRaisesRegex(ranks.RankFailed,
                                        "ValueError: overlap: this model, or one of its layers, has overlap already"):
                ranks.run(_overlapped_in_parts, 1, order)
        with self.assertRaisesRegex(ranks.RankFailed, "ValueError: overlap: FSDP1 .*NO_SHARD"):
            ranks.run(_overlapped_without_a_place, 1)
        for ran in (True, False):
            with self.assertRaisesRegex(ranks.RankFailed,
                                        "ValueError: overlap: expected the outermost FullyShardedDataParallel"):
                ranks.run(_overlapped_within, 2, ran)
        with self.assertRaisesRegex(ValueError, "urgent.*'fast'"), railweave.hints("fast"):
            pass
        for options, named in (({"prefetch": -1}, "ValueError: prefetch.*-1"),
                               ({"reduce_scatters": 0}, "ValueError: reduce_scatters.*0"),
                               ({"prefetch": 1.5}, "TypeError: prefetch.*1.5"),
                               ({"reduce_scatters": "2"}, "TypeError: reduce_scatters.*'2'"),
                               ({"window": 0}, "ValueError: window.*0"),
                               ({"window": "2x"}, "ValueError: window.*'2x'.*'auto'")):
            with self.assertRaisesRegex(ranks.RankFailed, named):
                ranks.run(_overlapped, 1, options)


if __name__ == "__main__":
    unittest.main()
