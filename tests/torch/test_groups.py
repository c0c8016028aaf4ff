"""Groups with options, stores, subgroups and splits, and with ranks that do not come, abort, or wait in a child."""
from __future__ import annotations

import copy
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import unittest
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

import railweave
import ranks


def _raised(call: Any) -> tuple[str, str]:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)
    return "", ""


def _options(rank: int, size: int) -> tuple[str, str, float]:
    """Waits for an operation that rank 1 does not join, in a group whose timeout comes from its options. Returns the
    error, and the seconds until it came."""
    group = dist.new_group(list(range(size)), pg_options=railweave.Options(timedelta(seconds=1.5)))
    began = time.monotonic()
    if rank == 1:
        time.sleep(4)
        return "", "", 0.0
    return *_raised(lambda: dist.all_reduce(torch.ones(3), group=group)), time.monotonic() - began


def _subgroup(rank: int, size: int, store: str) -> tuple[str, str]:
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    group = dist.new_group([2, 3])
    if rank < 2:
        return "", ""
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    if rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)

    def until_it_ends() -> None:
        while True:
            dist.all_reduce(tensor, group=group)

    return _raised(until_it_ends)


def _split(rank: int, size: int) -> list[float]:
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    options = copy.deepcopy(backend.options)
    assert options.timeout == backend.options.timeout, options.timeout
    sums = []
    for number, members in enumerate(([0, 2], [1])):
        part = dist.group.WORLD.split_group(members, timedelta(seconds=30), options, f"part{number}", "a part")
        if rank not in members:
            assert part is None, part
            continue
        assert part.size() == len(members) and part.rank() == members.index(rank), (part.size(), part.rank())
        tensor = torch.full((2,), float(rank))
        part.allreduce([tensor]).wait()
        sums.append(tensor[0].item())
    dist.barrier()
    return sums


def _split_and_lost(rank: int, size: int, store: str) -> str:
    """Global ranks 0 and 2 are ranks 0 and 1 of a part. Global rank 2 is killed."""
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    options = copy.deepcopy(dist.group.WORLD._get_backend(torch.device("cpu")).options)
    part = dist.group.WORLD.split_group([0, 2], timedelta(seconds=30), options, "part", "a part")
    if part is None:
        return ""
    tensor = torch.ones(3)
    part.allreduce([tensor]).wait()
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)

    def until_it_ends() -> None:
        while True:
            part.allreduce([tensor]).wait()

    return _raised(until_it_ends)[1]


def _of_one_operation(rank: int, size: int, store: str) -> tuple[str, str]:
    """Waits for an operation whose own timeout is shorter than the group's."""
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    dist.barrier()
    if rank == 1:
        time.sleep(4)
        return "", ""
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    options = dist.AllreduceOptions()
    options.timeout = timedelta(seconds=1)
    return _raised(backend.allreduce([torch.ones(3)], options).wait)


def _no_message(rank: int, size: int, store: str) -> tuple[str, str]:
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=1.5))
    if rank == 1:
        time.sleep(4)
        return "", ""
    return _raised(lambda: dist.recv(torch.ones(3), 1, tag=7))


def _aborted(rank: int, size: int, store: str) -> tuple[str, str, float]:
    """Another thread aborts the group while this thread waits for ranks that do not come. Returns the error of the
    wait, and its duration."""
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    dist.all_reduce(torch.ones(1))
    if rank > 0:
        time.sleep(3)
        return "", "", 0.0
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    works = [dist.all_reduce(torch.ones(3), async_op=True) for _ in range(3)]
    threading.Timer(0.5, backend.abort).start()
    began = time.monotonic()
    first = _raised(works[0].wait)
    seconds = time.monotonic() - began
    assert backend.error == "local", backend.error
    for work in works:
        assert _raised(work.wait) != ("", "") and work.is_completed(), work
    assert _raised(lambda: dist.all_reduce(torch.ones(3)))[0] == "DistBackendError"
    return *first, seconds


def _waits_in_a_child(rank: int, size: int, store: str) -> int:
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    if rank == 1:
        time.sleep(3)
    work = dist.all_reduce(torch.ones(3), async_op=True)
    child = os.fork() if rank == 0 else 0
    if rank == 0 and child == 0:
        signal.alarm(20)
        kind, said = _raised(work.wait)
        os._exit(0 if kind == "DistBackendError" and "forked" in said else 1)
    status = os.waitpid(child, 0)[1] if child else 0
    work.wait()
    dist.destroy_process_group()
    return status


def _error_of_one_request(rank: int, size: int) -> str:
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    if rank == 0:
        dist.send(torch.ones(2), 1)
    else:
        kind, said = _raised(lambda: dist.recv(torch.ones(5), 0))
        assert kind == "DistBackendError" and "8 bytes" in said, (kind, said)
    dist.all_reduce(torch.ones(1))
    return backend.error


def _over(store_of: Any) -> Any:
    """Returns a function that sums in a group whose store `store_of` makes."""

    def run(rank: int, size: int, path: str, port: int) -> float:
        dist.init_process_group("railweave", store=store_of(rank, size, path, port), rank=rank, world_size=size)
        tensor = torch.full((3,), float(rank + 1))
        dist.all_reduce(tensor)
        dist.destroy_process_group()
        return tensor[0].item()

    return run


def _tcp(rank: int, size: int, _path: str, port: int) -> dist.Store:
    return dist.TCPStore("127.0.0.1", port, size, rank == 0, timedelta(seconds=30))


def _prefix(rank: int, size: int, path: str, port: int) -> dist.Store:
    return dist.PrefixStore("a", dist.PrefixStore("b", _tcp(rank, size, path, port)))


def _file(_rank: int, size: int, path: str, _port: int) -> dist.Store:
    return dist.FileStore(path, size)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _alone(rank: int, _size: int, store: str) -> tuple[str, str]:
    """Rank 1 of 3 does not come."""
    if rank == 1:
        return "", ""
    return _raised(lambda: railweave.ProcessGroupRailweave(dist.FileStore(store, 3), rank, 3, timedelta(seconds=2)))


def _by_device(rank: int, size: int, expected: dict[str, str]) -> float:
    """Sums on the CPU, in a group that has a backend for each device."""
    for device, name in expected.items():
        found = dist.group.WORLD._get_backend(torch.device(device)).name()
        assert found == name, (device, found)
    tensor = torch.full((3,), float(rank + 1))
    dist.all_reduce(tensor)
    part = dist.new_group([0, size - 1])  # the new group inherits the backends
    if rank in (0, size - 1):
        dist.all_reduce(tensor, group=part)
    return tensor[0].item()


class GroupsTest(unittest.TestCase):
    def answers(self, body: Any, size: int, *args: Any) -> list[Any]:
        """Returns each rank's value. None: the rank was killed."""
        found = ranks.outcomes(ranks.start(body, size, *args))
        for answer in found:
            self.assertTrue(answer is None or answer[0], answer)
        return [answer and answer[1] for answer in found]

    def test_the_timeout_of_options_counts(self) -> None:
        kind, said, seconds = ranks.run(_options, 2)[0]
        self.assertEqual("DistBackendError", kind)
        self.assertIn("Timed out after 1500 ms", said)
        self.assertLess(seconds, 4)

    def test_a_timeout_of_nothing_is_refused(self) -> None:
        store = dist.HashStore()
        for milliseconds in (0, -5):
            with self.assertRaisesRegex(ValueError, "more than 0, found"):
                railweave.ProcessGroupRailweave(store, 0, 1, timedelta(milliseconds=milliseconds))
        backend = railweave.ProcessGroupRailweave(store, 0, 1)
        with self.assertRaises(ValueError):
            backend.set_timeout(timedelta(0))

    def test_a_rank_that_cannot_be_is_refused(self) -> None:
        for rank in (-1, 2):
            with self.assertRaisesRegex(ValueError, f"from 0 to 1, found {rank}"):
                railweave.ProcessGroupRailweave(dist.HashStore(), rank, 2)

    def test_an_error_in_a_subgroup_says_whose_ranks_are_meant(self) -> None:
        kind, said = self.answers(_subgroup, 4)[2]
        self.assertEqual("DistBackendError", kind)
        self.assertIn("(global ranks 2, 3)", said)
        self.assertIn("rank 1 is lost", said)

    def test_groups_that_are_split_off(self) -> None:
        self.assertEqual([[2.0], [1.0], [2.0]], ranks.run(_split, 3))

    def test_an_error_in_a_part_says_whose_ranks_are_meant(self) -> None:
        said = self.answers(_split_and_lost, 3)[0]
        self.assertIn("(global ranks 0, 2)", said)
        self.assertIn("rank 1 is lost", said)

    def test_the_timeout_of_one_operation_counts(self) -> None:
        kind, said = self.answers(_of_one_operation, 2)[0]
        self.assertEqual("DistBackendError", kind)
        self.assertIn("Timed out after 1000 ms: railweave:all_reduce number ", said)

    def test_a_message_that_does_not_come_is_named(self) -> None:
        kind, said = self.answers(_no_message, 2)[0]
        self.assertEqual("DistBackendError", kind)
        self.assertIn("railweave:recv from rank 1, tag 7, at rank 0", said)

    def test_abort_from_another_thread_returns_who_waits(self) -> None:
        kind, said, seconds = self.answers(_aborted, 2)[0]
        self.assertEqual("DistBackendError", kind)
        self.assertIn("abort", said)
        self.assertLess(seconds, 3)

    def test_a_child_that_waits_is_told_that_it_was_forked(self) -> None:
        self.assertEqual([0, 0], self.answers(_waits_in_a_child, 2))

    def test_an_error_of_one_request_is_none_of_the_group(self) -> None:
        self.assertEqual(["", ""], ranks.run(_error_of_one_request, 2))

    def test_stores(self) -> None:
        for store_of in (_tcp, _prefix, _file):
            with self.subTest(store=store_of.__name__):
                self.assertEqual([6.0] * 3, self.answers(_over(store_of), 3, _free_port()))

    def test_another_backend_for_another_device(self) -> None:
        for backend, cpu, cuda in (("cpu:gloo,cuda:railweave", "gloo", "railweave"),
                                   ("cpu:railweave,cuda:gloo", "railweave", "gloo")):
            with self.subTest(backend=backend):
                answers = ranks.run(_by_device, 3, {"cpu": cpu, "cuda": cuda}, backend=backend)
                self.assertEqual([12.0, 6.0, 12.0], answers)

    def test_a_rank_that_does_not_come_is_named(self) -> None:
        for kind, said in self.answers(_alone, 3)[::2]:
            self.assertEqual("DistBackendError", kind)
            self.assertIn("rank 1 did not come within 2 s", said)

    def test_a_store_that_is_gone(self) -> None:
        server = dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=5), wait_for_workers=False)
        store = dist.TCPStore("127.0.0.1", server.port, None, False, timedelta(seconds=5), wait_for_workers=False)
        del server
        with self.assertRaisesRegex(dist.DistBackendError, "the store failed"):
            railweave.ProcessGroupRailweave(store, 1, 2, timedelta(seconds=5))

    def test_an_exit_does_not_wait_for_what_is_unfinished(self) -> None:
        began = time.monotonic()
        done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent("""
            import os, sys, tempfile, time, torch, torch.distributed as dist, railweave
            path = tempfile.mktemp()
            other = os.fork() == 0
            dist.init_process_group("railweave", init_method="file://" + path, rank=int(other), world_size=2)
            dist.all_reduce(torch.ones(3))
            if other:
                time.sleep(8)
                os._exit(0)
            work = dist.all_reduce(torch.ones(3), async_op=True)
            work.get_future().then(lambda future: print("never", flush=True))
            print("leaves", flush=True)
        """)], capture_output=True, text=True, timeout=100, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
        seconds = time.monotonic() - began
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("leaves", done.stdout)
        self.assertLess(seconds, 60, "its timeout is 30 minutes")


if __name__ == "__main__":
    unittest.main()
