"""railweave.fsdp.overlap in unusual steps: layers raise, are skipped or were gathered before, and parameters or
gradients change between forward and backward. No layer uses old parameters, and no gradient is lost."""
from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor

import railweave
import railweave.fsdp
import ranks
from layered import LAYERS, WIDTH, Pairs, LoggedWork, layered, logged


def _after_a_failed_backward(rank: int, size: int) -> list[str]:
    """Returns the events of a step whose backward raised halfway, and of the next step."""
    diary: list[str] = []
    logged_reduce = logged(railweave._fsdp2.reduce_scatter, diary)

    def fail(_grad: torch.Tensor) -> None:
        raise ArithmeticError("in the middle of backward")

    data = torch.full((2, WIDTH), rank + 1.0)
    plain = layered([], size)
    plain(data).sum().backward()
    with mock.patch.object(railweave._fsdp2, "reduce_scatter", logged_reduce):
        model = railweave.fsdp.overlap(layered([], size), reduce_scatters=LAYERS)
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
    """Changes the parameters. Asserts that the result is of the new ones: parameters gathered before would show."""
    plain = layered([], size)
    for parameter in (*plain.parameters(), *model.parameters()):
        parameter.to_local().fill_(0.1)
    assert torch.equal(plain(data), model(data))


def _skipped_layer(rank: int, size: int) -> None:
    """A layer is gathered ahead and does not run. Its parameters change before it runs."""
    del rank
    model = railweave.fsdp.overlap(layered([], size))
    data = torch.ones(2, WIDTH)
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
    """Forward keeps gathered parameters for a backward that does not come, and the parameters change."""
    del rank
    model = railweave.fsdp.overlap(layered([], size))
    data = torch.ones(2, WIDTH)
    for _ in range(2):  # the first forward records the order of layers
        with torch.set_grad_enabled(gradients):
            model(data)
    with torch.no_grad():
        _assert_runs_with_other_parameters(model, data, size)


def _zeroed_between(rank: int, size: int, overlapped: bool) -> list[list[list[float]]]:
    """Returns the gradients of steps that zero the previous step's gradients between forward and backward."""
    model = layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    gradients = []
    for step in range(3):
        loss = model(torch.full((2, WIDTH), rank + step + 1.0)).sum()
        model.zero_grad()
        assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
        loss.backward()
        gradients.append([parameter.grad.to_local().tolist() for parameter in model.parameters()])
    return gradients


def _changed_between(rank: int, size: int, overlapped: bool, by: str) -> list[list[list[float]]]:
    """Returns the gradients of steps whose parameters change between forward and backward, `by` an optimizer or by hand
    in the local shard."""
    model = layered([], size)
    if overlapped:
        railweave.fsdp.overlap(model)
    optimizer = (torch.optim.Adam(model.parameters(), lr=0.1, fused=True) if by == "a fused optimizer"
                 else torch.optim.SGD(model.parameters(), lr=0.1))
    gradients = []
    for step in range(4):
        loss = model(torch.full((2, WIDTH), rank + step + 1.0)).sum()
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
    """A model whose forward calls its method first_two() for the first two layers."""

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
    """Returns the number of all-gathers in the third step. Layers `ahead` are unsharded before each step."""
    model: Any = layered([], size)
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
            model(torch.full((2, WIDTH), rank + 1.0)).sum().backward()
            model.zero_grad()
    return gathers


def _failing_reduce(rank: int, size: int, failing: int) -> list[str]:
    """Returns the events of a backward in which all reduce-scatters are under way at once and one fails."""
    del rank
    diary: list[str] = []
    logged_reduce = logged(railweave._fsdp2.reduce_scatter, diary)

    class Failing:
        def __init__(self, work: LoggedWork) -> None:
            self._work = work

        def wait(self) -> None:
            self._work.wait()
            raise ConnectionError(f"{self._work.name} failed")

    def reduce(*args: Any, **kwargs: Any) -> Any:
        work = logged_reduce(*args, **kwargs)
        return Failing(work) if work.name == f"reduce {failing}" else work

    with mock.patch.object(railweave._fsdp2, "reduce_scatter", reduce):
        model = railweave.fsdp.overlap(layered([], size), reduce_scatters=LAYERS + 1)
        try:
            model(torch.ones(2, WIDTH)).sum().backward()
        except ConnectionError as error:
            diary.append(f"backward raised: {error}")
    return diary


def _recomputed_after_a_failed_backward(rank: int, size: int, overlapped: bool) -> list[float]:
    """Returns the losses of a model that computes its layers anew in backward. One backward raises."""
    model = Pairs(nn.Sequential(*layered([], size)))
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
            hook = model.layers[3].register_forward_hook(
                lambda _module, _inputs, output: output.register_hook(fail) and None)
        loss = model(torch.full((2, WIDTH), rank + step + 1.0)).square().mean()
        try:
            loss.backward()
        except ArithmeticError:
            hook.remove()
            optimizer.zero_grad()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    return losses


class Stop(Exception):
    """Raised in the middle of a forward."""


def _left_in_forward(rank: int, size: int, entered: str) -> None:
    """A forward gathers layers ahead and does not reach its end. Then the parameters change, and all layers run."""
    del rank
    model = layered([], size)
    if entered == "by a method":
        model.first_two = lambda x: model[1](model[0](x))
        register_fsdp_forward_method(model, "first_two")
    railweave.fsdp.overlap(model)
    data = torch.ones(2, WIDTH)

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


class OverlapEdgesTest(unittest.TestCase):
    def test_a_backward_that_raised_leaves_nothing_behind(self) -> None:
        diary = ranks.run(_after_a_failed_backward, 2)[0]
        step, backward, end = (diary.index(event) for event in ("next step", "backward", "end of backward"))
        left = [event for event in diary[:step] if event.startswith("reduce")]
        self.assertEqual(LAYERS - 3, len(left), diary)
        self.assertEqual([f"waited {name}" for name in left], diary[step + 1:backward])
        later = [event for event in diary[backward:end] if event.startswith("reduce")]
        self.assertEqual([f"waited {name}" for name in later],
                         [event for event in diary[backward:end] if event.startswith("waited")])
        self.assertEqual(LAYERS, len(later))

    def test_a_skipped_layer_later_runs_with_current_parameters(self) -> None:
        ranks.run(_skipped_layer, 2)

    def test_a_forward_that_did_not_end_leaves_no_parameters_behind(self) -> None:
        for entered in ("and raised", "by a method"):
            with self.subTest(entered=entered):
                ranks.run(_left_in_forward, 2, entered)

    def test_parameters_kept_for_a_missing_backward_are_not_reused(self) -> None:
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
        # FSDP takes the layers after the method for forwards of their own, so backward gathers all layers again.
        self.assertEqual(2 * LAYERS, ranks.run(_gathers_of_a_step, 2, [], "first_two", True)[0])

    def test_a_failed_reduce_scatter_is_raised_and_others_waited_for(self) -> None:
        for failing in (0, LAYERS - 1):
            with self.subTest(failing=failing):
                diary = ranks.run(_failing_reduce, 2, failing)[0]
                self.assertIn(f"backward raised: reduce {failing} failed", diary)
                called = [event for event in diary if event.startswith("reduce")]
                self.assertEqual([f"waited {name}" for name in called],
                                 [event for event in diary if event.startswith("waited")])

    def test_layers_that_are_recomputed_after_a_backward_that_raised(self) -> None:
        self.assertEqual(*(ranks.run(_recomputed_after_a_failed_backward, 2, overlapped)
                           for overlapped in (False, True)))


if __name__ == "__main__":
    unittest.main()
