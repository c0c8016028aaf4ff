"""railweave.fsdp: collectives go beside compute, and nothing that is computed changes."""
from __future__ import annotations

import itertools
import unittest
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard, register_fsdp_forward_method
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor
from torch.utils.checkpoint import checkpoint

import railweave
import railweave.fsdp
from railweave._buffers import Buffers
import ranks
import training

_LAYERS, _WIDTH = 6, 8


class Layer(nn.Module):
    """Tells `diary` when it computes."""

    def __init__(self, number: int, diary: list[str]) -> None:
        super().__init__()
        self.linear, self.number, self.diary = nn.Linear(_WIDTH, _WIDTH), number, diary

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.diary.append(f"layer {self.number}")
        y = torch.tanh(self.linear(x))
        if y.requires_grad:
            y.register_hook(lambda grad: self.diary.append(f"back {self.number}"))
        return y


def _layered(diary: list[str], size: int) -> nn.Sequential:
    torch.manual_seed(3)
    model = nn.Sequential(*(Layer(number, diary) for number in range(_LAYERS)))
    mesh = init_device_mesh("cpu", (size,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


class Told:
    """A Work that tells when it is waited for."""

    def __init__(self, work: Any, name: str, diary: list[str]) -> None:
        self._work, self.name, self._diary = work, name, diary

    def wait(self) -> None:
        self._diary.append(f"waited {self.name}")
        self._work.wait()


def _telling(reduce: Any, diary: list[str], every: int = 10_000) -> Any:
    """Numbers the reduce-scatters from 0, up to `every`, and tells when each is called and waited for."""
    reduced = itertools.count()

    def told_reduce(*args: Any, **kwargs: Any) -> Told:
        name = f"reduce {next(reduced) % every}"
        diary.append(name)
        return Told(reduce(*args, **kwargs), name, diary)

    return told_reduce


def _diary_of_a_step(rank: int, size: int, options: dict[str, int]) -> list[str]:
    """What happens in the second step: the first one records the order of layers."""
    del rank
    diary: list[str] = []
    gather, told_reduce = railweave._fsdp2.all_gather, _telling(railweave._fsdp2.reduce_scatter, diary, _LAYERS)

    def told_gather(*args: Any, **kwargs: Any) -> Any:
        diary.append("gather")
        return gather(*args, **kwargs)

    with mock.patch.object(railweave._fsdp2, "all_gather", told_gather), mock.patch.object(railweave._fsdp2, "reduce_scatter", told_reduce):
        model = railweave.fsdp.overlap(_layered(diary, size), **options)
        for _ in range(2):
            diary.clear()
            model(torch.ones(2, _WIDTH)).sum().backward()
            diary.append("end of backward")
            for parameter in model.parameters():
                parameter.grad = None
    return diary


def _diary_of_fsdp1(rank: int, size: int) -> list[str]:
    """What happens to the reduce-scatters of a backward."""
    del rank, size
    diary: list[str] = []
    told_reduce = _telling(railweave._fsdp1.reduce_scatter, diary)

    torch.manual_seed(3)
    model = FullyShardedDataParallel(nn.Sequential(*(Layer(number, []) for number in range(_LAYERS))),
                                     auto_wrap_policy=ModuleWrapPolicy({Layer}), device_id=torch.device("cpu"))
    with mock.patch.object(railweave._fsdp1, "reduce_scatter", told_reduce):
        railweave.fsdp.overlap(model)
        model(torch.ones(2, _WIDTH)).sum().backward()
        diary.append("end of backward")
    return diary


def _gathers_before(diary: list[str], event: str) -> int:
    return diary[:diary.index(event)].count("gather")


def _after_a_failed_backward(rank: int, size: int) -> list[str]:
    """What happens in a step after one whose backward raised halfway."""
    diary: list[str] = []
    told_reduce = _telling(railweave._fsdp2.reduce_scatter, diary)

    def fail(_grad: torch.Tensor) -> None:
        raise ArithmeticError("in the middle of backward")

    data = torch.full((2, _WIDTH), rank + 1.0)
    plain = _layered([], size)
    plain(data).sum().backward()
    with mock.patch.object(railweave._fsdp2, "reduce_scatter", told_reduce):
        model = railweave.fsdp.overlap(_layered([], size), reduce_scatters=_LAYERS)
        between = model[2].register_forward_hook(lambda _module, _inputs, output: output.register_hook(fail) and None)
        try:
            model(data).sum().backward()
        except ArithmeticError:
            between.remove()
        model.reset_iter_state()
        model.zero_grad()
        diary.append("next step")
        loss = model(data).sum()
        diary.append("backward")
        loss.backward()
        diary.append("end of backward")
    for one, other in zip(plain.parameters(), model.parameters()):
        assert torch.equal(one.grad.to_local(), other.grad.to_local())
    return diary


def _assert_runs_with_other_parameters(model: nn.Module, data: torch.Tensor, size: int) -> None:
    """Changes them; what was gathered before shows in the result."""
    plain = _layered([], size)
    for parameter in (*plain.parameters(), *model.parameters()):
        parameter.to_local().fill_(0.1)
    assert torch.equal(plain(data), model(data))


def _skipped_layer(rank: int, size: int) -> None:
    """A layer that was fetched ahead and did not run, and whose parameters change before it does."""
    del rank
    model = railweave.fsdp.overlap(_layered([], size))
    data = torch.ones(2, _WIDTH)
    whole = model.forward

    def first_two(x: torch.Tensor) -> torch.Tensor:
        return model[1](model[0](x))

    with torch.no_grad():
        model(data)
        model.forward = first_two
        model(data)
        model.forward = whole
        _assert_runs_with_other_parameters(model, data, size)


def _kept_for_no_backward(rank: int, size: int, gradients: bool) -> None:
    """What forward gathered is kept for a backward, and parameters change before one comes."""
    del rank
    model = railweave.fsdp.overlap(_layered([], size))
    data = torch.ones(2, _WIDTH)
    for _ in range(2):  # the first records the order
        with torch.set_grad_enabled(gradients):
            model(data)
    with torch.no_grad():
        _assert_runs_with_other_parameters(model, data, size)


def _zeroed_between(rank: int, size: int, overlapped: bool) -> list[list[list[float]]]:
    """Gradients of steps that zero those of the step before between forward and backward."""
    model = _layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    gradients = []
    for step in range(3):
        loss = model(torch.full((2, _WIDTH), rank + step + 1.0)).sum()
        model.zero_grad()
        assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
        loss.backward()
        gradients.append([parameter.grad.to_local().tolist() for parameter in model.parameters()])
    return gradients


def _changed_between(rank: int, size: int, overlapped: bool, by: str) -> list[list[list[float]]]:
    """Gradients of steps whose parameters change between forward and backward, `by` an optimizer or in the local shard."""
    model = _layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True) if by == "a fused optimizer" else torch.optim.SGD(model.parameters(), lr=0.1)
    gradients = []
    for step in range(4):
        loss = model(torch.full((2, _WIDTH), rank + step + 1.0)).sum()
        if by == "hand":
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.to_local().mul_(0.9)
        else:
            optimizer.step()
        optimizer.zero_grad()
        loss.backward()
        gradients.append([parameter.grad.to_local().tolist() for parameter in model.parameters()])
    return gradients


class ByMethod(nn.Module):
    """Its forward calls a method of its own for the first two layers, or not."""

    def __init__(self, layers: nn.Sequential, method: str) -> None:
        super().__init__()
        self.layers, self.method = layers, method

    def first_two(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers[1](self.layers[0](x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first_two(x)
        for layer in self.layers[2:]:
            x = layer(x)
        return x


def _gathers_of_a_step(rank: int, size: int, ahead: list[int], method: str, nested: bool) -> int:
    """All-gathers of a step after the second, before which layers `ahead` were asked for."""
    model: Any = _layered([], size)
    if nested:
        model = ByMethod(nn.Sequential(*model), method)
        fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
        if method:
            register_fsdp_forward_method(model, method)
    layers = model.layers if nested else model
    railweave.fsdp.overlap(model)
    gathers, gather = 0, railweave._fsdp2.all_gather

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal gathers
        gathers += 1
        return gather(*args, **kwargs)

    with mock.patch.object(railweave._fsdp2, "all_gather", counted):
        for _ in range(3):
            gathers = 0
            for at in ahead:
                layers[at].unshard(async_op=True)
            model(torch.full((2, _WIDTH), rank + 1.0)).sum().backward()
            model.zero_grad()
    return gathers


def _failing_reduce(rank: int, size: int, failing: int) -> list[str]:
    """What happens in a backward, of all layers at once, one of whose reduce-scatters fails."""
    del rank
    diary: list[str] = []
    told_reduce = _telling(railweave._fsdp2.reduce_scatter, diary)

    class Failing:
        def __init__(self, work: Told) -> None:
            self._work = work

        def wait(self) -> None:
            self._work.wait()
            raise ConnectionError(f"{self._work.name} failed")

    def reduce(*args: Any, **kwargs: Any) -> Any:
        work = told_reduce(*args, **kwargs)
        return Failing(work) if work.name == f"reduce {failing}" else work

    with mock.patch.object(railweave._fsdp2, "reduce_scatter", reduce):
        model = railweave.fsdp.overlap(_layered([], size), reduce_scatters=_LAYERS + 1)
        try:
            model(torch.ones(2, _WIDTH)).sum().backward()
        except ConnectionError as error:
            diary.append(f"backward raised: {error}")
    return diary


class Pairs(nn.Module):
    """Layers by twos, of which nothing but the input is kept for backward."""

    def __init__(self, layers: nn.Sequential) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for first in range(0, _LAYERS, 2):
            x = checkpoint(lambda y, at=first: self.layers[at + 1](self.layers[at](y)), x, use_reentrant=False)
        return x


def _recomputed_after_a_failed_backward(rank: int, size: int, overlapped: bool) -> list[float]:
    """Losses of a model whose layers are computed anew in backward, one of which raised."""
    model = Pairs(nn.Sequential(*_layered([], size)))
    fully_shard(model, mesh=init_device_mesh("cpu", (size,)))
    if overlapped:
        railweave.fsdp.overlap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fail(_grad: torch.Tensor) -> None:
        raise ArithmeticError("in the middle of backward")

    losses = []
    for step in range(6):
        hook = None
        if step == 1:
            hook = model.layers[3].register_forward_hook(lambda _module, _inputs, output: output.register_hook(fail) and None)
        loss = model(torch.full((2, _WIDTH), rank + step + 1.0)).square().mean()
        try:
            loss.backward()
        except ArithmeticError:
            hook.remove()
            optimizer.zero_grad()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def _checkpointed(rank: int, size: int, overlapped: bool) -> tuple[list[list[float]], int]:
    """Gradients, and how many reduce-scatters were unfinished at once at most."""
    model = Pairs(nn.Sequential(*_layered([], size)))
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
            railweave.fsdp.overlap(model, reduce_scatters=_LAYERS)
        for _ in range(3):
            model.zero_grad()
            most = 0
            model(torch.full((2, _WIDTH), rank + 1.0)).sum().backward()
    return [parameter.grad.to_local().tolist() for parameter in model.parameters()], most


class Stop(Exception):
    """In the middle of a forward."""


def _left_in_forward(rank: int, size: int, entered: str) -> None:
    """Parameters change after a forward that fetched layers ahead and did not come to its end; then all of them run."""
    del rank
    model = _layered([], size)
    if entered == "by a method":
        model.first_two = lambda x: model[1](model[0](x))
        register_fsdp_forward_method(model, "first_two")
    railweave.fsdp.overlap(model)
    data = torch.ones(2, _WIDTH)

    def stop(*_: Any) -> None:
        raise Stop

    with torch.no_grad():
        model(data)
        if entered == "by a method":
            model.first_two(data)
        else:
            hook = model[1].register_forward_hook(stop)
            try:
                model(data)
            except Stop:
                hook.remove()
        _assert_runs_with_other_parameters(model, data, size)


def _by_hand(rank: int, size: int, overlapped: bool) -> list[list[float]]:
    """Gradients where FSDP's hooks are called outside of backward, as a pipeline's stage does."""
    model = _layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    model.set_requires_gradient_sync(False)
    model.set_reshard_after_backward(False)
    model(torch.full((2, _WIDTH), rank + 1.0)).sum().backward()
    model.set_requires_gradient_sync(True)
    model.set_reshard_after_backward(True)
    for layer in model:
        for group in railweave._fsdp2._param_groups(layer):
            group.post_backward()
    return [parameter.grad.to_local().tolist() for parameter in model.parameters()]


def _shared_layer(rank: int, size: int, overlapped: bool) -> list[torch.Tensor]:
    """Gradients of a layer that runs twice: the second reduce-scatter's result is added to the first one's."""
    model = _layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    for _ in range(2):
        model.zero_grad()
        y = model[1](model[0](torch.full((2, _WIDTH), rank + 1.0)))
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
    railweave.fsdp.overlap(_layered([], size), **options)


def _overlapped_twice(rank: int, size: int) -> None:
    del rank
    railweave.fsdp.overlap(railweave.fsdp.overlap(_layered([], size)))


def _overlapped_in_parts(rank: int, size: int, order: tuple[int, int]) -> None:
    """The model and one of its layers."""
    del rank
    model = _layered([], size)
    for at in order:
        railweave.fsdp.overlap((model, model[1])[at])


def _fsdp1(strategy: str = "FULL_SHARD") -> FullyShardedDataParallel:
    return FullyShardedDataParallel(nn.Sequential(Layer(0, [])), sharding_strategy=ShardingStrategy[strategy], device_id=torch.device("cpu"))


def _overlapped_without_a_place(rank: int, size: int) -> None:
    del rank, size
    railweave.fsdp.overlap(_fsdp1("NO_SHARD"), window=1)


def _overlapped_within(rank: int, size: int, ran: bool) -> None:
    del rank, size
    inner = _fsdp1()
    outer = FullyShardedDataParallel(nn.Sequential(inner, nn.Linear(_WIDTH, 2)), device_id=torch.device("cpu"))
    if ran:
        outer(torch.ones(2, _WIDTH))
    railweave.fsdp.overlap(inner)
    outer(torch.ones(2, _WIDTH))


class OverlapTest(unittest.TestCase):
    def test_losses_are_the_same_to_the_bit(self) -> None:
        for options, size in (({}, 2), ({"bf16": True}, 3), ({"hybrid": True}, 4), ({"accumulated": 2}, 2), ({"reduce_dtype": torch.float16}, 2)):
            with self.subTest(**options):
                plain = ranks.run(training.fsdp2, size, options)
                for overlap in ({},) if options else ({}, {"prefetch": 3, "reduce_scatters": 1}, {"window": 1}, {"window": "100K"}, {"window": "auto"}):
                    self.assertEqual(plain, ranks.run(training.fsdp2, size, {**options, "overlap": overlap}))

    def test_losses_of_fsdp1_are_the_same_to_the_bit(self) -> None:
        for strategy, size, overlap in (("FULL_SHARD", 2, {}), ("FULL_SHARD", 4, {"reduce_scatters": 1}), ("SHARD_GRAD_OP", 3, {"window": 2})):
            with self.subTest(strategy=strategy, ranks=size):
                self.assertEqual(ranks.run(training.fsdp1, size, strategy), ranks.run(training.fsdp1, size, strategy, overlap))

    def test_reduce_scatters_of_fsdp1_are_waited_for_later(self) -> None:
        diary = ranks.run(_diary_of_fsdp1, 2)[0]
        self.assertEqual(["reduce 0", "reduce 1", "waited reduce 0", "reduce 2", "waited reduce 1"], diary[:5])
        self.assertEqual("end of backward", diary[-1])
        self.assertEqual(diary[-2], f"waited {diary[-4]}")

    def test_parameters_are_gathered_ahead(self) -> None:
        for ahead in (0, 1, 2, 3):
            diary = ranks.run(_diary_of_a_step, 2, {"prefetch": ahead})[0]
            for number in range(_LAYERS):
                self.assertEqual(min(_LAYERS, number + 1 + ahead), _gathers_before(diary, f"layer {number}"), f"{ahead} ahead: {diary}")

    def test_parameters_are_gathered_ahead_in_backward(self) -> None:
        for ahead in (1, 2, 3):
            diary = ranks.run(_diary_of_a_step, 2, {"prefetch": ahead})[0]
            backward = diary[diary.index(f"layer {_LAYERS - 1}"):]
            for done, number in enumerate(reversed(range(_LAYERS - 1)), start=1):  # those that were kept are not gathered again
                self.assertEqual(min(_LAYERS - ahead, done), _gathers_before(backward, f"back {number}"), f"{ahead} ahead: {diary}")

    def test_reduce_scatters_are_waited_for_when_the_next_wants_room(self) -> None:
        for most in (1, 2, 3):
            diary = ranks.run(_diary_of_a_step, 2, {"reduce_scatters": most})[0]
            for number in range(_LAYERS):
                waited = diary.index(f"waited reduce {number}")
                before = f"reduce {number + most}"
                if number + most < _LAYERS:
                    self.assertEqual(waited + 1, diary.index(before), f"at most {most}: {diary}")
                else:
                    self.assertGreater(waited, diary.index("back 0"), f"at most {most}: {diary}")
                self.assertLess(waited, diary.index("end of backward"))

    def test_a_backward_that_raised_leaves_nothing_behind(self) -> None:
        diary = ranks.run(_after_a_failed_backward, 2)[0]
        step, backward, end = (diary.index(event) for event in ("next step", "backward", "end of backward"))
        left = [event for event in diary[:step] if event.startswith("reduce")]
        self.assertEqual(_LAYERS - 3, len(left), diary)
        self.assertEqual([f"waited {name}" for name in left], diary[step + 1:backward])
        later = [event for event in diary[backward:end] if event.startswith("reduce")]
        self.assertEqual([f"waited {name}" for name in later], [event for event in diary[backward:end] if event.startswith("waited")])
        self.assertEqual(_LAYERS, len(later))

    def test_a_layer_that_was_skipped_runs_with_its_parameters_of_then(self) -> None:
        ranks.run(_skipped_layer, 2)

    def test_a_forward_that_did_not_end_leaves_no_parameters_behind(self) -> None:
        for entered in ("and raised", "by a method"):
            with self.subTest(entered=entered):
                ranks.run(_left_in_forward, 2, entered)

    def test_hooks_called_by_hand(self) -> None:
        self.assertEqual(*(ranks.run(_by_hand, 2, overlapped) for overlapped in (False, True)))

    def test_parameters_that_were_kept_for_a_backward_that_does_not_come_are_not_used_later(self) -> None:
        for gradients in (True, False):
            with self.subTest(gradients=gradients):
                ranks.run(_kept_for_no_backward, 2, gradients)

    def test_gradients_that_are_zeroed_between_forward_and_backward(self) -> None:
        self.assertEqual(*(ranks.run(_zeroed_between, 2, overlapped) for overlapped in (False, True)))

    def test_parameters_that_change_between_forward_and_backward(self) -> None:
        for by in ("an optimizer", "a fused optimizer", "hand"):
            with self.subTest(by=by):
                self.assertEqual(*(ranks.run(_changed_between, 2, overlapped, by) for overlapped in (False, True)))

    def test_what_was_asked_for_before_a_forward_is_used(self) -> None:
        unasked, asked = (ranks.run(_gathers_of_a_step, 2, ahead, "", False)[0] for ahead in ([], [0, 1]))
        self.assertEqual(unasked, asked)

    def test_a_method_within_a_forward_has_nothing_gathered_twice(self) -> None:
        # FSDP takes what follows it for forwards of their own, so backward gathers all again.
        self.assertEqual(2 * _LAYERS, ranks.run(_gathers_of_a_step, 2, [], "first_two", True)[0])

    def test_a_reduce_scatter_that_fails_is_raised_and_the_others_waited_for(self) -> None:
        for failing in (0, _LAYERS - 1):
            with self.subTest(failing=failing):
                diary = ranks.run(_failing_reduce, 2, failing)[0]
                self.assertIn(f"backward raised: reduce {failing} failed", diary)
                called = [event for event in diary if event.startswith("reduce")]
                self.assertEqual([f"waited {name}" for name in called], [event for event in diary if event.startswith("waited")])

    def test_layers_that_are_recomputed_after_a_backward_that_raised(self) -> None:
        self.assertEqual(*(ranks.run(_recomputed_after_a_failed_backward, 2, overlapped) for overlapped in (False, True)))

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
        self.assertEqual(_LAYERS, overlapped[1], "what is computed anew waits for none")

    def test_a_layer_that_runs_twice(self) -> None:
        self.assertEqual(*(self._gradients(_shared_layer, overlapped) for overlapped in (False, True)))

    def _gradients(self, body: Any, overlapped: bool) -> list[list[list[float]]]:
        return [[gradient.tolist() for gradient in of_rank] for of_rank in ranks.run(body, 2, overlapped)]

    def test_operations_of_different_priorities(self) -> None:
        ranks.run(_priorities, 3)

    def test_bad_arguments_are_named(self) -> None:
        with self.assertRaisesRegex(ranks.RankFailed, "TypeError: .*fully_shard.*Linear"):
            ranks.run(lambda rank, size: railweave.fsdp.overlap(nn.Linear(2, 2)), 1)
        with self.assertRaisesRegex(ranks.RankFailed, "ValueError: overlap: this model has it already"):
            ranks.run(_overlapped_twice, 1)
        for order in (0, 1), (1, 0):
            with self.assertRaisesRegex(ranks.RankFailed, "ValueError: overlap: this model has it already, or one of its layers"):
                ranks.run(_overlapped_in_parts, 1, order)
        with self.assertRaisesRegex(ranks.RankFailed, "ValueError: overlap: FSDP1 .*NO_SHARD"):
            ranks.run(_overlapped_without_a_place, 1)
        for ran in (True, False):
            with self.assertRaisesRegex(ranks.RankFailed, "ValueError: overlap: expected the outermost FullyShardedDataParallel"):
                ranks.run(_overlapped_within, 2, ran)
        with self.assertRaisesRegex(ValueError, "urgent.*'fast'"), railweave.hints("fast"):
            pass
        for options, named in (({"prefetch": -1}, "ValueError: prefetch.*-1"), ({"reduce_scatters": 0}, "ValueError: reduce_scatters.*0"),
                               ({"prefetch": 1.5}, "TypeError: prefetch.*1.5"), ({"reduce_scatters": "2"}, "TypeError: reduce_scatters.*'2'"),
                               ({"window": 0}, "ValueError: window.*0"), ({"window": "2x"}, "ValueError: window.*'2x'.*'auto'")):
            with self.assertRaisesRegex(ranks.RankFailed, named):
                ranks.run(_overlapped, 1, options)


if __name__ == "__main__":
    unittest.main()
