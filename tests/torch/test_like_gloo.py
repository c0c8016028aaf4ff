"""Unusual tensors: the backend accepts every tensor that Gloo accepts, with equal results."""
from __future__ import annotations

import unittest
from typing import Any, Callable

import torch
import torch.distributed as dist

import ranks

_SIZE = 2
_Made = Callable[[int], torch.Tensor]


def _numbers(rank: int, count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(count) % 5 + rank).to(dtype)


# Name to a function that makes the tensor of rank r. First dimensions are even, so that all can be split in two. Two
# kinds are left out. For tensors that are not contiguous, Gloo reads and writes memory outside the tensors
# (test_operations.py has such tensors). A type that Gloo refuses at one end only leaves Gloo's group unusable.
_LAYOUTS: dict[str, _Made] = {
    "plain": lambda r: _numbers(r, 8),
    "no elements": lambda r: torch.empty(0),
    "no elements in rows": lambda r: torch.empty(2, 0, 3),
    "no dimension": lambda r: torch.tensor(float(r + 1)),
    "from the middle": lambda r: _numbers(r, 20)[5:13],
    "one of its row": lambda r: _numbers(r, 8).view(8, 1),
    "wants gradients": lambda r: _numbers(r, 8).requires_grad_(),
    "a parameter": lambda r: torch.nn.Parameter(_numbers(r, 8)),
    **{str(dtype): lambda r, dtype=dtype: _numbers(r, 8, dtype)
       for dtype in (torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                     torch.float64, torch.complex64, torch.complex128)},
}
_OF_COMPLEX_HALVES = ("all_reduce", "reduce", "reduce_scatter_tensor")  # Gloo has no other operation of complex32
_NOT_COMPARED = {("all_to_all_single", "no dimension"): "one element in two parts: Gloo moves none"}


def _copies(tensor: torch.Tensor) -> list[torch.Tensor]:
    return [torch.zeros_like(tensor) for _ in range(_SIZE)]


def _all_gather(t: torch.Tensor, rank: int) -> Any:
    found = _copies(t)
    dist.all_gather(found, t)
    return found


def _gather(t: torch.Tensor, rank: int) -> Any:
    found = _copies(t) if rank == 0 else None
    dist.gather(t, found, dst=0)
    return found


def _scatter(t: torch.Tensor, rank: int) -> Any:
    found = torch.zeros_like(t)
    dist.scatter(found, [t, t] if rank == 0 else None, src=0)
    return found


def _changed(call: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor, int], Any]:
    def run(t: torch.Tensor, rank: int) -> Any:
        with torch.no_grad():
            call(t)
        return t

    return run


def _to_another(call: Callable[[torch.Tensor, torch.Tensor], Any],
                of_input: Callable[[torch.Tensor], tuple[int, ...]]) -> Callable[..., Any]:
    def run(t: torch.Tensor, rank: int) -> Any:
        found = torch.zeros(of_input(t), dtype=t.dtype)
        call(found, t)
        return found

    return run


def _message(t: torch.Tensor, rank: int) -> Any:
    if rank == 0:
        dist.send(t, 1)
        return None
    found = torch.zeros_like(t)
    dist.recv(found, 0)
    return found


def _reduce(t: torch.Tensor, rank: int) -> Any:
    with torch.no_grad():
        dist.reduce(t, 0)
    return t if rank == 0 else None


_OPERATIONS: dict[str, Callable[[torch.Tensor, int], Any]] = {
    "all_reduce": _changed(dist.all_reduce),
    "all_reduce max": _changed(lambda t: dist.all_reduce(t, dist.ReduceOp.MAX)),
    "reduce": _reduce,
    "broadcast": _changed(lambda t: dist.broadcast(t, 0)),
    "all_gather": _all_gather,
    "gather": _gather,
    "scatter": _scatter,
    "all_gather_into_tensor": _to_another(dist.all_gather_into_tensor, lambda t: (2 * t.shape[0], *t.shape[1:])),
    "reduce_scatter_tensor": _to_another(dist.reduce_scatter_tensor, lambda t: (t.shape[0] // 2, *t.shape[1:])),
    "all_to_all_single": _to_another(dist.all_to_all_single, lambda t: tuple(t.shape)),
    "send and recv": _message,
}


def _plain(found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        return [list(found.shape), str(found.dtype),
                found.detach().resolve_conj().resolve_neg().to(torch.complex128).flatten().tolist()]
    return [_plain(one) for one in found] if isinstance(found, list) else None


def _outcomes(rank: int, size: int, operation: str) -> dict[str, Any]:
    """Returns by layout the operation's result, or its exception as text."""
    found: dict[str, Any] = {}
    layouts = dict(_LAYOUTS)
    if operation in _OF_COMPLEX_HALVES:
        layouts["complex32"] = lambda r: _numbers(r, 8, torch.complex32)
    for name, made in layouts.items():
        try:
            found[name] = _plain(_OPERATIONS[operation](made(rank), rank))
        except Exception as error:  # noqa: BLE001
            found[name] = f"raised {type(error).__name__}: {error}"
    return found


class LikeGlooTest(unittest.TestCase):
    def test_what_gloo_takes(self) -> None:
        for operation in _OPERATIONS:
            gloo, ours = (ranks.outcomes(ranks.start(ranks.in_group(_outcomes, backend), _SIZE, operation))
                          for backend in ("gloo", "railweave"))
            taken = 0
            for rank in range(_SIZE):
                self.assertTrue(gloo[rank] and gloo[rank][0], f"{operation}, Gloo: {gloo[rank]}")
                self.assertTrue(ours[rank] and ours[rank][0], f"{operation}: {ours[rank]}")
                found = ours[rank][1]
                for layout, expected in gloo[rank][1].items():
                    if isinstance(expected, str) or (operation, layout) in _NOT_COMPARED:
                        continue
                    taken += 1
                    with self.subTest(operation=operation, layout=layout, rank=rank):
                        self.assertEqual(expected, found[layout])
            self.assertGreater(taken, 20, operation)  # results of both ranks


if __name__ == "__main__":
    unittest.main()
