"""Futures of operations and their callbacks. A callback may wait for the Futures of other operations while no thread
waits for a Work."""
from __future__ import annotations

import time
import unittest
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

import ranks

_COUNT = 70_000  # elements: 280 KB, more than one chunk


def _sum_of(rank: int, times: int) -> torch.futures.Future[Any]:
    return dist.all_reduce(torch.full((_COUNT,), float(rank + times)), async_op=True).get_future()


def _one_in_another(rank: int, size: int) -> list[float]:
    """Each callback waits for the Future of an operation that it begins, three deep. Five times in a row."""

    def deeper(done: torch.futures.Future[Any], depth: int) -> float:
        found = done.value()[0][-1].item()
        if depth == 0:
            return found
        return found + _sum_of(rank, depth).then(lambda inner: deeper(inner, depth - 1)).wait()

    return [_sum_of(rank, 3).then(lambda done: deeper(done, 2)).wait() for _ in range(5)]


def _value_at_once(rank: int, size: int) -> int:
    """Returns how many Futures have no correct value when wait() of their Work has returned. Every other Future is
    taken before the wait."""
    wrong = 0
    for turn in range(200):
        work = dist.all_reduce(torch.ones(turn * 100 + 1), async_op=True)
        early = work.get_future() if turn % 2 else None
        work.wait()
        wrong += (early or work.get_future()).value()[0][-1].item() != size
    return wrong


def _failed(rank: int, size: int, store: str) -> list[str]:
    """Returns the errors that the waits for a Future and for its callback raise."""
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=2))
    if rank == 1:
        time.sleep(5)
        return []
    said = []
    future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
    for waited in (future, future.then(lambda done: done.value())):
        try:
            waited.wait()
        except Exception as error:  # noqa: BLE001
            said.append(str(error))
    return said


def _power_sgd(rank: int, size: int) -> float:
    """Trains with torch's PowerSGD hook, whose callbacks wait for collectives that they begin. Returns how far apart
    the ranks' parameters are. The model is one bucket: nothing orders the collectives of several buckets' callbacks."""
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*(torch.nn.Linear(128, 128) for _ in range(6))))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(rank)
    for _ in range(6):
        optimizer.zero_grad()
        model(torch.randn(8, 128)).square().mean().backward()
        optimizer.step()
    flat = torch.cat([each.detach().flatten() for each in model.parameters()])
    least, most = flat.clone(), flat.clone()
    dist.all_reduce(least, op=dist.ReduceOp.MIN)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return (most - least).abs().max().item()


class FuturesTest(unittest.TestCase):
    def test_callbacks_that_wait_for_futures_of_what_they_begin(self) -> None:
        expected = [float(sum(rank + times for rank in range(2) for times in (3, 2, 1)))] * 5
        self.assertEqual([expected] * 2, ranks.run(_one_in_another, 2))

    def test_a_future_has_its_value_when_wait_returns(self) -> None:
        self.assertEqual([0, 0], ranks.run(_value_at_once, 2))

    def test_a_future_brings_the_error(self) -> None:
        found = ranks.outcomes(ranks.start(_failed, 2))[0]
        self.assertTrue(found and found[0], found)
        self.assertEqual(2, len(found[1]), found)
        for said in found[1]:
            self.assertIn("Timed out after 2000 ms", said)

    def test_power_sgd(self) -> None:
        for apart in ranks.run(_power_sgd, 2):
            self.assertEqual(0.0, apart)


if __name__ == "__main__":
    unittest.main()
