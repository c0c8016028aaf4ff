"""Every operation of the backend, also with unusual tensors, against torch's own results in one process."""
from __future__ import annotations

import time
import unittest
from typing import Any

import torch
import torch.distributed as dist

import railweave
import ranks

_TYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64]
_MOVED = [*_TYPES, torch.bool, torch.complex64, torch.float8_e4m3fn]
_SHAPES = [(0,), (1,), (7, 3), (1000,)]


def _of(rank: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Returns the tensor of `rank`: small numbers that are exact in every dtype."""
    count = int(torch.tensor(shape).prod())
    return ((torch.arange(count) + rank) % 5).to(torch.float32).to(dtype).reshape(shape)


def _same(found: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    assert found.shape == expected.shape, f"{what}: {found.shape} instead of {expected.shape}"
    are_equal = torch.equal(found.cpu().to(torch.complex64), expected.cpu().to(torch.complex64))
    assert are_equal, f"{what}: {found} instead of {expected}"


def _reductions(rank: int, size: int) -> None:
    for dtype in _TYPES:
        for shape in _SHAPES:
            all_inputs = torch.stack([_of(r, shape, dtype).to(torch.float64) for r in range(size)])
            expected = {dist.ReduceOp.SUM: all_inputs.sum(0), dist.ReduceOp.MAX: all_inputs.amax(0),
                        dist.ReduceOp.MIN: all_inputs.amin(0)}
            for op, result in expected.items():
                what = f"{dtype} {shape} {op}"
                tensor = _of(rank, shape, dtype)
                dist.all_reduce(tensor, op)
                _same(tensor, result.to(dtype), f"all_reduce {what}")
                tensor = _of(rank, shape, dtype)
                dist.reduce(tensor, size - 1, op)
                if rank == size - 1:
                    _same(tensor, result.to(dtype), f"reduce {what}")
    flags = torch.tensor([rank == 0, True, False])
    dist.all_reduce(flags, dist.ReduceOp.MAX)
    _same(flags, torch.tensor([True, True, False]), "all_reduce of bool")
    mean = torch.full((3,), float(rank))
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    _same(mean, torch.full((3,), (size - 1) / 2), "average")
    bits = torch.tensor([1 << rank])
    dist.all_reduce(bits, dist.ReduceOp.BOR)
    _same(bits, torch.tensor([(1 << size) - 1]), "bitwise or")
    turn = torch.full((2,), 1j * (rank + 1), dtype=torch.complex64)
    dist.all_reduce(turn)
    _same(turn, torch.full((2,), 1j * size * (size + 1) / 2), "complex sum")
    scaled = torch.ones(3)
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
    _same(scaled, torch.full((3,), size / 2), "premultiplied sum")


def _large(rank: int, size: int) -> None:
    """Tensors larger than one chunk of the copies to and from a device. Each operation runs with contiguous tensors and
    with tensors that are not."""
    count = 3_000_017
    numbers = (torch.arange(count) % 1013).to(torch.float32)

    def of(r: int) -> torch.Tensor:
        return numbers + r

    everything = torch.cat([of(r) for r in range(size)])
    for apart in (False, True):
        what = f"large, apart {apart}"

        def room(elements: int) -> torch.Tensor:
            return torch.full((elements, 2), -1.0)[:, 0] if apart else torch.full((elements,), -1.0)

        tensor = room(count).copy_(of(rank))
        dist.all_reduce(tensor)
        _same(tensor, of(0) * size + size * (size - 1) / 2, f"all_reduce {what}")
        tensor = room(count).copy_(of(rank))
        dist.broadcast(tensor, size - 1)
        _same(tensor, of(size - 1), f"broadcast {what}")
        gathered = room(count * size)
        dist.all_gather_into_tensor(gathered, room(count).copy_(of(rank)))
        _same(gathered, everything, f"all_gather_into_tensor {what}")
        scattered = room(count)
        dist.reduce_scatter_tensor(scattered, room(count * size).copy_(everything + rank))
        _same(scattered, of(rank) * size + size * (size - 1) / 2, f"reduce_scatter_tensor {what}")


def _scattered_sums(rank: int, size: int) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        inputs = [_of(rank + piece, (5,), dtype) for piece in range(size)]
        expected = torch.stack([_of(r + rank, (5,), dtype).to(torch.float64) for r in range(size)]).sum(0).to(dtype)
        output = torch.empty(5, dtype=dtype)
        dist.reduce_scatter(output, inputs)
        _same(output, expected, f"reduce_scatter {dtype}")
        output = torch.empty(5, dtype=dtype)
        dist.reduce_scatter_tensor(output, torch.cat(inputs))
        _same(output, expected, f"reduce_scatter_tensor {dtype}")
    mine = torch.full((2,), 1 + 2j, dtype=torch.complex32)
    everyone = torch.full((2,), size * (1 - 2j), dtype=torch.complex32)
    inputs = [mine.conj() if piece == 0 else torch.full((2,), 1 - 2j, dtype=torch.complex32) for piece in range(size)]
    output = torch.empty(2, 2, dtype=torch.complex32)[:, 1]  # every other element
    dist.reduce_scatter(output, inputs)
    _same(output.clone(), everyone, "reduce_scatter complex32")
    output = torch.empty(2, dtype=torch.complex32)
    dist.reduce_scatter_tensor(output, torch.cat([mine] * size).conj())
    _same(output, everyone, "reduce_scatter_tensor complex32")
    dist.reduce(mine, 0)
    if rank == 0:
        _same(mine, everyone.conj(), "reduce complex32")


def _moved(rank: int, size: int) -> None:
    for dtype in _MOVED:
        for shape in _SHAPES:
            what, mine = f"{dtype} {shape}", _of(rank, shape, dtype)
            apart = [torch.empty(shape, dtype=dtype) for _ in range(size)]
            dist.all_gather(apart, mine)
            for r in range(size):
                _same(apart[r], _of(r, shape, dtype), f"all_gather {what}")
            together = torch.empty((size, *shape), dtype=dtype)
            dist.all_gather(list(together), mine)
            for r in range(size):
                _same(together[r], _of(r, shape, dtype), f"all_gather into chunks {what}")
            tensor = _of(rank, shape, dtype)
            dist.broadcast(tensor, size - 1)
            _same(tensor, _of(size - 1, shape, dtype), f"broadcast {what}")
            gathered = [torch.empty(shape, dtype=dtype) for _ in range(size)] if rank == 0 else None
            dist.gather(mine, gathered, dst=0)
            for r, found in enumerate(gathered or []):
                _same(found, _of(r, shape, dtype), f"gather {what}")
            output = torch.empty(shape, dtype=dtype)
            dist.scatter(output, [_of(r, shape, dtype) for r in range(size)] if rank == 0 else None, src=0)
            _same(output, _of(rank, shape, dtype), f"scatter {what}")


def _exchanged(rank: int, size: int) -> None:
    output = torch.empty(2 * size)
    dist.all_to_all_single(output, torch.arange(2.0 * size) + 100 * rank)
    _same(output, torch.cat([torch.arange(2.0) + 2 * rank + 100 * r for r in range(size)]), "all_to_all_single")
    counts = [piece + 1 for piece in range(size)]  # rows for each rank: its number plus one
    output = torch.empty((rank + 1) * size, 2)
    dist.all_to_all_single(output, torch.full((sum(counts), 2), float(rank)), [rank + 1] * size, counts)
    _same(output, torch.cat([torch.full((rank + 1, 2), float(r)) for r in range(size)]),
          "all_to_all_single with splits")
    outputs = [torch.empty(r + 1) for r in range(size)]
    dist.all_to_all(outputs, [torch.full((rank + 1,), float(10 * rank + r)) for r in range(size)])
    for r, found in enumerate(outputs):
        _same(found, torch.full((r + 1,), float(10 * r + rank)), "all_to_all")


def _strided(rank: int, size: int) -> None:
    base = torch.zeros(6, 4)
    column = base[:, 1]
    column.fill_(rank + 1.0)
    dist.all_reduce(column)
    _same(base[:, 1], torch.full((6,), size * (size + 1) / 2), "all_reduce of a column")
    _same(base[:, 0], torch.zeros(6), "its neighbour")
    base.zero_()
    base[:, 2] = float(rank)
    dist.broadcast(base[:, 2], size - 1)
    _same(base[:, 2], torch.full((6,), size - 1.0), "broadcast of a column")


def _messages(rank: int, size: int) -> None:
    following, before = (rank + 1) % size, (rank - 1) % size
    sent = [dist.isend(torch.full((3,), float(10 * rank + tag)), following, tag=tag) for tag in (2, 1)]
    for tag in (1, 2):
        found = torch.empty(3)
        assert dist.recv(found, before, tag=tag) == before
        _same(found, torch.full((3,), float(10 * before + tag)), f"message of tag {tag}")
    for work in sent:
        work.wait()
    if rank == 0:
        seen = set()
        for _ in range(size - 1):
            found = torch.empty(1)
            source = dist.recv(found)
            _same(found, torch.tensor([float(source)]), "from whoever sent")
            seen.add(source)
        assert seen == set(range(1, size)), seen
    else:
        dist.send(torch.tensor([float(rank)]), 0)


def _coalesced(rank: int, size: int) -> None:
    tensors = [torch.full((n,), float(rank)) for n in (3, 5)]
    with dist._coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    for tensor in tensors:
        _same(tensor, torch.full_like(tensor, size * (size - 1) / 2), "coalesced all_reduce")
    found = torch.empty(4)
    exchange = [dist.P2POp(dist.isend, torch.full((4,), float(rank)), (rank + 1) % size),
                dist.P2POp(dist.irecv, found, (rank - 1) % size)]
    for work in dist.batch_isend_irecv(exchange):
        work.wait()
    _same(found, torch.full((4,), float((rank - 1) % size)), "batch of messages")
    if dist.get_debug_level() != dist.DebugLevel.DETAIL:  # torch's wrapper has no batches
        group, cpu = dist.group.WORLD, torch.device("cpu")
        group._start_coalescing(cpu)
        group.send([torch.ones(2)], (rank + 1) % size, 9)
        group.recv_anysource([torch.empty(2)], 9)
        work = group._end_coalescing(cpu)
        work.wait()
        assert work._source_rank() == (rank - 1) % size, work._source_rank()
    try:
        dist.all_reduce(torch.ones(1), async_op=True)._source_rank()
    except RuntimeError:
        return
    raise AssertionError("an all-reduce has no source")


def _later(rank: int, size: int) -> None:
    tensors = [torch.full((100,), float(rank)) for _ in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    value = works[7].get_future().then(lambda future: future.value()[0][0].item()).wait()
    assert value == size * (size - 1) / 2, value
    for work in reversed(works):
        work.wait()
    until = time.monotonic() + 60  # for a device, wait() does not wait for the last copies
    while not all(work.is_completed() for work in works):
        assert time.monotonic() < until
    for tensor in tensors:
        _same(tensor, torch.full((100,), size * (size - 1) / 2), "all_reduce, waited for later")
    dist.barrier()


def _aliased(rank: int, size: int) -> None:
    """Inputs lie anywhere in the memory of outputs, or outputs in that of inputs. The results are as if the inputs had
    been copied before."""
    everything = torch.stack([_of(r, (3,), torch.float32) for r in range(size)])
    for slot in range(size):
        whole = torch.zeros(size, 3)
        whole[slot] = everything[rank]
        dist.all_gather_into_tensor(whole, whole[slot])
        _same(whole, everything, f"all_gather_into_tensor from slot {slot}")
        whole = torch.zeros(size, 3)
        whole[slot] = everything[rank]
        dist.all_gather(list(whole), whole[slot])
        _same(whole, everything, f"all_gather from slot {slot}")
        whole = everything + rank
        dist.reduce_scatter_tensor(whole[slot], whole)
        _same(whole[slot], everything[rank] * size + size * (size - 1) / 2, f"reduce_scatter_tensor to slot {slot}")
        whole = everything + rank
        dist.reduce_scatter(whole[slot], list(whole))
        _same(whole[slot], everything[rank] * size + size * (size - 1) / 2, f"reduce_scatter to slot {slot}")
        whole = torch.zeros(size, 3)
        whole[slot] = everything[rank]
        dist.gather(whole[slot], list(whole) if rank == 0 else None, dst=0)
        if rank == 0:
            _same(whole, everything, f"gather from slot {slot}")
        whole = everything.clone()
        dist.scatter(whole[slot], list(whole) if rank == 0 else None, src=0)
        _same(whole[slot], everything[rank], f"scatter to slot {slot}")
    whole = torch.arange(2.0 * size) + 100 * rank
    dist.all_to_all_single(whole, whole)
    _same(whole, torch.cat([torch.arange(2.0) + 2 * rank + 100 * r for r in range(size)]),
          "all_to_all_single onto itself")


def _in_inference_mode(rank: int, size: int) -> None:
    """Any thread may drive an operation and copy its results out, and does so in the caller's mode."""
    with torch.inference_mode():
        outputs = [torch.empty(3) for _ in range(size)]
        column = torch.full((6, 2), float(rank))[:, 0]
        if rank == 0:
            time.sleep(0.3)  # so that the other rank's results arrive while no thread waits
        works = [dist.all_gather(outputs, torch.full((3,), float(rank)), async_op=True),
                 dist.all_reduce(column, async_op=True)]
        time.sleep(0.6)
        for work in works:
            work.wait()
        for r, found in enumerate(outputs):
            _same(found, torch.full((3,), float(r)), "all_gather in inference mode")
        _same(column, torch.full((6,), size * (size - 1) / 2), "all_reduce of a column in inference mode")


def _copies(rank: int, size: int) -> tuple[int, int]:
    """Returns how often torch copied elements: for outputs that are chunks of one buffer, and for others."""
    counts = []
    buffer = torch.empty(size * 1000)
    for outputs in (list(buffer.chunk(size)), [torch.empty(1000) for _ in range(size)]):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
            dist.all_gather(outputs, torch.full((1000,), float(rank)))
        counts.append(sum(event.count for event in seen.key_averages() if event.key == "aten::copy_"))
    return counts[0], counts[1]


def _sparse(rank: int, size: int) -> None:
    tensor = torch.sparse_coo_tensor([[0, rank]], [1.0, 2.0], (size,), check_invariants=True)
    dist.all_reduce(tensor)
    expected = torch.full((size,), 2.0)
    expected[0] += size
    _same(tensor.to_dense(), expected, "sum of sparse tensors")


def _refused(rank: int, size: int) -> list[str]:
    del rank
    calls: list[Any] = [
        lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND),
        lambda: dist.all_reduce(torch.ones(2).to(torch.float8_e4m3fn)),
        lambda: dist.broadcast(torch.ones(2), size + 3),
        lambda: dist.all_gather([torch.ones(2)], torch.ones(2)),
        lambda: dist.all_gather_into_tensor(torch.ones(3), torch.ones(2)),
        lambda: dist.all_to_all_single(torch.ones(size), torch.ones(size), [1] * size, [2] * size),
        # The input and output counts of a rank's own part differ.
        lambda: dist.all_to_all_single(torch.ones(4), torch.ones(4), [1, 3], [2, 2]),
        lambda: dist.all_reduce(torch.ones(1).expand(4)),
        lambda: dist.broadcast(torch.ones(1).expand(4), 0),
        lambda: dist.all_reduce(torch.ones(5).as_strided((2, 2), (1, 1))),
        lambda: dist.send(torch.ones(1), 1, tag=-2),
        lambda: dist.group.WORLD.send([torch.ones(1)], size, 0),
        lambda: dist.group.WORLD.recv([torch.ones(1)], -1, 0),
        lambda: dist.group.WORLD._get_backend(torch.device("cpu")).allreduce([torch.ones(2, device="meta")]).wait(),
        lambda: railweave.ProcessGroupRailweave(None, 0, 1),
    ]
    said = []
    for call in calls:
        try:
            call()
            said.append("")
        except (RuntimeError, TypeError, ValueError) as error:
            said.append(str(error))
    dist.barrier()  # none of them harmed the group
    return said


def _unlike(rank: int, size: int) -> list[str]:
    said = []
    for length, dtype in ((4, torch.float32) if rank == 0 else (400, torch.float32),
                          (4, torch.float32 if rank == 0 else torch.int32)):
        tensor = torch.sparse_coo_tensor([[length - 1]], torch.ones(1, dtype=dtype), (length,), check_invariants=True)
        try:
            dist.all_reduce(tensor)
            said.append("")
        except RuntimeError as error:
            said.append(str(error))
    dist.barrier()
    return said


class OperationsTest(unittest.TestCase):
    def test_among_1_to_4_ranks(self) -> None:
        for size in (1, 2, 3, 4):
            for body in (_reductions, _scattered_sums, _moved, _exchanged, _strided, _coalesced, _later, _sparse,
                         _aliased):
                with self.subTest(body=body.__name__, ranks=size):
                    ranks.run(body, size)

    def test_under_debug_detail(self) -> None:
        """Torch then wraps the backend, and compares the ranks' calls before each operation."""
        before = dist.get_debug_level()
        dist.set_debug_level(dist.DebugLevel.DETAIL)
        try:
            for body in (_reductions, _scattered_sums, _moved, _exchanged, _strided, _coalesced, _later, _aliased,
                         _messages):
                with self.subTest(body=body.__name__):
                    ranks.run(body, 2)
        finally:
            dist.set_debug_level(before)

    def test_messages(self) -> None:
        for size in (2, 3):
            with self.subTest(ranks=size):
                ranks.run(_messages, size)

    def test_in_inference_mode(self) -> None:
        ranks.run(_in_inference_mode, 2)

    @unittest.skipIf("staged" in railweave.__file__, "of a device all is copied")
    def test_chunks_of_one_buffer_are_not_copied(self) -> None:
        for of_chunks, of_others in ranks.run(_copies, 2):
            self.assertEqual(0, of_chunks)
            self.assertGreater(of_others, 0)

    def test_large_tensors(self) -> None:
        for size in (2, 3):
            with self.subTest(ranks=size):
                ranks.run(_large, size)

    def test_what_cannot_be_is_refused(self) -> None:
        for rank, said in enumerate(ranks.run(_refused, 2)):
            for number, text in enumerate(said):
                self.assertNotEqual("", text, f"call {number} at rank {rank} raised nothing")
            ours = [text for text in said if text.startswith("railweave:")]
            self.assertGreaterEqual(len(ours), 8)
            for text in ours:  # messages have no number; no collective has begun yet
                number = "" if ":send" in text or ":recv" in text else " number 1"
                self.assertRegex(text, rf"^railweave:\w+{number} at rank {rank} of 2: ")

    def test_sparse_tensors_that_differ_are_refused_by_all(self) -> None:
        for sizes, types in ranks.run(_unlike, 2):
            self.assertIn("size [4] of Float", sizes)
            self.assertIn("size [400] of Float", sizes)
            self.assertIn("of Int", types)


if __name__ == "__main__":
    unittest.main()
