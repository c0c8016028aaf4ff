"""What users of torch reported of other backends, and what users of this backend reported: each holds here."""
from __future__ import annotations

import unittest

import torch
import torch.distributed as dist

import ranks


def _column(value: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns a matrix of zeros, and its second column full of `value`."""
    whole = torch.zeros(5, 3)
    whole[:, 1] = value
    return whole, whole[:, 1]


def _strided(rank: int, size: int) -> list[list[float]]:
    """pytorch#192920: results of broadcast, reduce and scatter into a column were wrong."""
    found = []
    whole, column = _column(rank + 1.0)
    dist.broadcast(column, 1)
    found.append(whole.sum(0).tolist())
    whole, column = _column(rank + 1.0)
    dist.reduce(column, 0)
    found.append(whole.sum(0).tolist() if rank == 0 else [0.0, 15.0, 0.0])
    whole, column = _column(0)
    dist.scatter(column, [_column(r + 1.0)[1] for r in range(size)] if rank == 0 else None)
    found.append(whole.sum(0).tolist())
    whole, column = _column(7)
    dist.send(column, 1) if rank == 0 else dist.recv(column, 0)
    found.append(whole.sum(0).tolist())
    return found


def _unsigned(rank: int, size: int) -> list[list[int]]:
    """Gloo refuses these types."""
    found = []
    for dtype in (torch.int16, torch.uint16, torch.uint32, torch.uint64):
        tensor = torch.tensor([rank + 1, 2]).to(dtype)
        dist.all_reduce(tensor)
        found.append(tensor.to(torch.int64).tolist())
    return found


def _not_a_number(rank: int, size: int) -> list[bool]:
    """MAX and MIN kept or lost a NaN by the order of ranks."""
    found = []
    for whose in range(size):
        for kind in (dist.ReduceOp.MAX, dist.ReduceOp.MIN):
            tensor = torch.tensor([float("nan") if rank == whose else 1.0])
            dist.all_reduce(tensor, kind)
            found.append(bool(tensor.isnan()))
    return found


class ReportsTest(unittest.TestCase):
    def test_columns_keep_their_place(self) -> None:
        of_rank_0, of_rank_1 = ranks.run(_strided, 2)
        self.assertEqual([[0, 10, 0], [0, 15, 0], [0, 5, 0], [0, 35, 0]], of_rank_0)
        self.assertEqual([[0, 10, 0], [0, 15, 0], [0, 10, 0], [0, 35, 0]], of_rank_1)

    def test_unsigned_and_short_integers_are_summed(self) -> None:
        self.assertEqual([[[3, 4]] * 4] * 2, ranks.run(_unsigned, 2))

    def test_a_nan_stays_whoever_has_it(self) -> None:
        self.assertEqual([[True] * 4] * 2, ranks.run(_not_a_number, 2))


if __name__ == "__main__":
    unittest.main()
