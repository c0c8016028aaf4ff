"""How groups begin and end: many groups, killed ranks, timeouts, forks, ranks that differ, exits without destroy."""
from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import railweave
import ranks

_MORE_KIB = 4096  # growth after 90 groups: allocators keep a little; 64 KiB left by each group would be more
_PROMPTLY_S = 20  # a failing group waits two seconds for the store, and two at its end; the machine may be busy
_TORCHRUN = Path(sys.executable).with_name("torchrun")


def _entries(folder: str) -> int:
    return len(os.listdir(folder))


def _descriptors() -> int:
    """Counts the process's descriptors without those of rails' accounts, whose number depends on this user's other
    processes."""
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append((int(name), os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue  # listdir()'s own descriptor
    return sum(not _is_of_an_account(descriptor, link) for descriptor, link in links)


def _is_of_an_account(descriptor: int, link: str) -> bool:
    if link.startswith(("pipe:", "/memfd:railweave-account")):
        return True
    if not link.startswith("socket:"):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as one:
        names = []
        for name in (one.getsockname, one.getpeername):
            try:
                names.append(name())
            except OSError:
                continue  # a listener, or the peer is gone
    return any(isinstance(name, bytes) and name[1:].startswith(b"railweave-account") for name in names)


def _summed(value: float, group: Any = None) -> float:
    tensor = torch.full((5,), value)
    dist.all_reduce(tensor, group=group)
    return tensor[0].item()


def _resident_kib() -> int:
    return next(int(line.split()[1]) for line in open("/proc/self/status", encoding="utf-8")
                if line.startswith("VmRSS"))


def _hundred_times(rank: int, size: int, store: str) -> dict[str, tuple[int, int]]:
    def once(number: int) -> None:
        dist.init_process_group("railweave", init_method=f"file://{store}{number}", rank=rank, world_size=size)
        assert _summed(1.0) == size
        dist.destroy_process_group()

    for number in range(10):
        once(number)
    counted = {"descriptors": _descriptors, "threads": lambda: _entries("/proc/self/task"), "KiB": _resident_kib}
    before = {what: count() for what, count in counted.items()}
    for number in range(10, 100):
        once(number)
    until = time.monotonic() + 20
    while any(counted[what]() > before[what] for what in ("descriptors", "threads")) and time.monotonic() < until:
        time.sleep(0.05)  # the last group is still being closed
    return {what: (before[what], count()) for what, count in counted.items()}


def _left_behind(rank: int, size: int, store: str) -> tuple[list[str], list[str], int]:
    """Makes ten groups, uses and destroys them, and keeps their objects; then one backend that is only dropped. Returns
    the names of railweave's threads after either, and the number of descriptors that are left."""
    descriptors = _descriptors()
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size)
    groups = [dist.group.WORLD, *(dist.new_group(list(range(size))) for _ in range(9))]
    for group in groups:
        assert _summed(1.0, group) == size
    dist.destroy_process_group()
    destroyed = _threads_left()
    dropped = railweave.ProcessGroupRailweave(dist.FileStore(store + "-dropped", size), rank, size)
    dropped.allreduce([torch.ones(1)]).wait()
    del dropped
    after = _threads_left()
    until = time.monotonic() + _PROMPTLY_S
    while _descriptors() > descriptors and time.monotonic() < until:
        time.sleep(0.05)
    return destroyed, after, _descriptors() - descriptors


def _threads_left() -> list[str]:
    """Returns the names of railweave's threads, once they have ended or the patience is over."""
    until = time.monotonic() + _PROMPTLY_S
    while True:
        names = []
        for thread in Path("/proc/self/task").iterdir():
            try:
                names.append((thread / "comm").read_text().strip())
            except OSError:
                continue  # ended meanwhile
        ours = [name for name in names if name.startswith("railweave")]
        if not ours or time.monotonic() > until:
            return ours
        time.sleep(0.05)


def _killed(rank: int, size: int, store: str) -> tuple[str, str, float]:
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    _summed(1.0)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    try:
        while True:
            _summed(1.0)
    except dist.DistBackendError as error:
        return type(error).__name__, str(error), time.monotonic() - began


def _killed_before_the_first_operation(rank: int, size: int, store: str) -> str:
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    pid = Path(store + "-pid")
    if rank == 1:
        pid.with_suffix(".part").write_text(str(os.getpid()))
        pid.with_suffix(".part").rename(pid)
        signal.pause()
    while not pid.exists():
        time.sleep(0.01)
    os.kill(int(pid.read_text()), signal.SIGKILL)
    while Path(f"/proc/{pid.read_text()}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    try:
        _summed(1.0)
    except dist.DistBackendError as error:
        return str(error)
    return ""


def _late(rank: int, size: int) -> tuple[str, str]:
    del size
    if rank == 1:
        time.sleep(4)
    try:
        group = dist.group.WORLD
        work = dist.all_reduce(torch.ones(3), group=group, async_op=True) if rank == 0 else None
        future = work.get_future() if work else None
        if future:
            future.wait()  # a Future's wait() drives nothing and checks no timeout
        return "", ""
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)


def _impatient(rank: int, size: int) -> float:
    """wait(timeout) gives up, and the operation goes on."""
    tensor = torch.full((3,), 1.0)
    if rank == 1:
        time.sleep(1.5)
        dist.all_reduce(tensor)
    else:
        work = dist.all_reduce(tensor, async_op=True)
        try:
            work.wait(timedelta(milliseconds=200))
            raise AssertionError("wait() came back")
        except dist.DistBackendError as error:
            assert "200 ms" in str(error), error
        work.wait()
    assert tensor[0].item() == size
    return tensor[0].item()


def _left_to_destroy(rank: int, size: int, store: str) -> list[float]:
    """Issues operations and never waits for them. Returns their results after the group was destroyed."""
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    tensors = [torch.full((100_000,), 1.0) for _ in range(8)]
    if rank == 1:
        time.sleep(0.5)
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    dist.destroy_process_group()
    return [tensor[-1].item() for tensor in tensors]


def _two_threads(rank: int, size: int) -> None:
    groups = [dist.new_group(list(range(size))) for _ in range(2)]
    wrong: list[str] = []

    def drive(number: int) -> None:
        for step in range(100):
            found = _summed(float(rank + step + number), groups[number])
            expected = size * (step + number) + size * (size - 1) / 2
            if found != expected:
                wrong.append(f"group {number}, step {step}: {found} instead of {expected}")

    threads = [threading.Thread(target=drive, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def _forked(rank: int, size: int) -> int:
    """Forks a child, as a DataLoader forks its workers. The child lives and ends while the group is used."""
    assert _summed(float(rank)) == size * (size - 1) / 2
    child = os.fork()
    if child == 0:
        os._exit(0 if torch.ones(3).sum().item() == 3 else 1)
    _, status = os.waitpid(child, 0)
    assert _summed(1.0) == size
    return status


def _mismatched(rank: int, size: int, store: str, level: dist.DebugLevel) -> str:
    dist.set_debug_level(level)
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=30))
    try:
        dist.all_reduce(torch.ones(3 if rank == 0 else 4))
    except RuntimeError as error:
        return str(error)
    return ""


def _mismatched_types(rank: int, size: int, store: str, gathers: bool, types: tuple[torch.dtype, torch.dtype]) -> str:
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=30))
    tensor = torch.zeros(3).to(types[rank])
    try:
        if gathers:
            dist.all_gather_into_tensor(torch.empty(3 * size, dtype=tensor.dtype), tensor)
        else:
            dist.all_reduce(tensor)
    except RuntimeError as error:
        return str(error)
    return ""


def _without_store(rank: int, size: int, store: str) -> str:
    del size, store
    kept = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = dist.TCPStore("127.0.0.1", kept.port, is_master=False)
    del kept
    try:
        railweave.ProcessGroupRailweave(client, rank, 2)
    except dist.DistBackendError as error:
        return str(error)
    return ""


class LifeTest(unittest.TestCase):
    def test_a_hundred_groups__nothing_grows(self) -> None:
        for rank, answer in enumerate(ranks.outcomes(ranks.start(_hundred_times, 2))):
            self.assertIsNotNone(answer, f"rank {rank}")
            self.assertTrue(answer[0], answer[1])
            for what, (before, after) in answer[1].items():
                self.assertLessEqual(after, before + (_MORE_KIB if what == "KiB" else 0), what)

    def test_destroyed_groups_leave_no_thread_and_no_descriptor(self) -> None:
        for answer in ranks.outcomes(ranks.start(_left_behind, 2)):
            self.assertIsNotNone(answer)
            self.assertEqual((True, ([], [], 0)), answer)

    def test_a_killed_rank_is_named_by_the_others(self) -> None:
        answers = ranks.outcomes(ranks.start(_killed, 3))
        self.assertIsNone(answers[1])
        for rank in (0, 2):
            self.assertTrue(answers[rank] and answers[rank][0], answers[rank])
            _, said, seconds = answers[rank][1]
            self.assertIn("rank 1", said)
            self.assertIn("railweave:all_reduce", said)
            self.assertLess(seconds, 30)

    def test_a_refused_connection_is_explained(self) -> None:
        for _ in range(5):
            answers = ranks.outcomes(ranks.start(_killed_before_the_first_operation, 2))
            self.assertTrue(answers[0] and answers[0][0], answers)
            said = answers[0][1]
            if "another instance" not in said:  # else a process of another test has taken the lost rank's port
                break
        self.assertIn("rank 1 is lost: the rank has ended, or its host refuses connections: ", said)
        self.assertEqual(1, said.count("connect to"), said)  # one address, not those of all families

    def test_an_operation_ends_at_its_timeout_though_nobody_waits(self) -> None:
        kind, said = ranks.run(_late, 2, timeout_s=2)[0]
        self.assertEqual("DistBackendError", kind, said)
        self.assertIn("Timed out after 2000 ms", said)
        self.assertIn("railweave:all_reduce", said)

    def test_a_wait_that_gives_up_ends_nothing(self) -> None:
        ranks.run(_impatient, 2)

    def test_destroy_waits_for_what_was_called(self) -> None:
        for answer in ranks.outcomes(ranks.start(_left_to_destroy, 2)):
            self.assertEqual((True, [2.0] * 8), tuple(answer or ()))

    def test_two_groups_from_two_threads(self) -> None:
        ranks.run(_two_threads, 2)

    def test_fork_beside_a_group(self) -> None:
        self.assertEqual([0, 0], ranks.run(_forked, 2))

    def assert_mismatch(self, level: dist.DebugLevel, *expected: str) -> None:
        for answer in ranks.outcomes(ranks.start(_mismatched, 2, level)):
            self.assertTrue(answer and answer[0], answer)
            for text in expected:
                self.assertIn(text, answer[1])

    def test_counts_that_differ_are_an_error_with_both_sizes(self) -> None:
        self.assert_mismatch(dist.DebugLevel.OFF, "12", "16")

    def test_counts_that_differ_are_shown_as_shapes_in_debug_detail(self) -> None:
        self.assert_mismatch(dist.DebugLevel.DETAIL, "TensorShape=[3]", "TensorShape=[4]")

    def test_types_that_differ_are_named_though_their_bytes_do_not(self) -> None:
        for gathers, called in (False, "all_reduce of {} (sum)"), (True, "all_gather of {}"):
            answers = ranks.outcomes(ranks.start(_mismatched_types, 2, gathers, (torch.float32, torch.int32)))
            self.assertTrue(all(answer and answer[0] for answer in answers), answers)
            # The rank that notices first reports to the other rank, which may know no more than that report.
            said = " / ".join(answer[1] for answer in answers)
            self.assertIn(called.format("float32"), said)
            self.assertIn(called.format("int32"), said)
            self.assertNotIn("", [answer[1] for answer in answers])

    def test_types_that_go_as_bytes_differ_all_the_same(self) -> None:
        for answer in ranks.outcomes(ranks.start(_mismatched_types, 2, True, (torch.float8_e4m3fnuz, torch.uint8))):
            self.assertTrue(answer and answer[0], answer)
            self.assertIn("of other elements that go as bytes", answer[1])

    def test_a_store_that_is_gone_is_an_error_of_one_line(self) -> None:
        said = ranks.outcomes(ranks.start(_without_store, 1))[0]
        self.assertTrue(said and said[0], said)
        self.assertIn("the store failed to set", said[1])
        self.assertNotIn("\n", said[1].strip())

    def script(self, folder: str, text: str) -> str:
        path = Path(folder) / "script.py"
        path.write_text(textwrap.dedent(text))
        return str(path)

    def torchrun(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(_TORCHRUN), "--standalone", "--nproc-per-node", "2", *args], capture_output=True,
                              text=True, timeout=110, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def test_torchrun_and_an_exit_without_destroy(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = self.torchrun(self.script(folder, """
                import torch, torch.distributed as dist, railweave
                dist.init_process_group("railweave")
                tensor = torch.ones(3)
                dist.all_reduce(tensor)
                print("sum " + str(tensor[0].item()) + "\\n", end="")
            """))
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(2, done.stdout.count("sum 2.0"), done.stdout)

    def started(self, folder: str, *args: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, str(Path(folder) / "script.py"), *args], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_an_exit_does_not_wait_for_a_store_that_does_not_answer(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.script(folder, """
                import sys, torch, torch.distributed as dist, railweave
                port, rank, ending = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
                if rank < 0:
                    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
                    print(store.port, flush=True)
                    sys.exit(sys.stdin.read())
                store = dist.TCPStore("127.0.0.1", port, is_master=False)
                dist.init_process_group("railweave", store=dist.PrefixStore(ending, store), rank=rank, world_size=2)
                dist.all_reduce(torch.ones(3))
                print("ready", flush=True)
                if rank == 0:
                    sys.stdin.read()
                try:
                    dist.all_reduce(torch.ones(3))
                except dist.DistBackendError as error:
                    if ending == "raise":
                        raise
                    print(error, flush=True)
                    if ending == "abort":
                        dist.group.WORLD._get_backend(torch.device("cpu")).abort()
                    dist.destroy_process_group()
                    sys.exit(1)
            """)
            keeper = self.started(folder, "0", "-1", "")
            port = keeper.stdout.readline().strip()
            endings = ("raise", "destroy", "abort")
            pairs = [[self.started(folder, port, str(rank), ending) for rank in range(2)] for ending in endings]
            for process in itertools.chain(*pairs):
                self.assertEqual("ready", process.stdout.readline().strip())
            keeper.send_signal(signal.SIGSTOP)  # like a host that is cut off, the keeper neither answers nor resets
            for doomed, _ in pairs:
                doomed.kill()
            for ending, (_, left) in zip(endings, pairs):
                with self.subTest(ending):
                    said, _ = left.communicate(timeout=_PROMPTLY_S)
                    self.assertIn("rank 0 is lost", said)
                    self.assertEqual(1, left.returncode, said)

    def test_the_elastic_agent_restarts_after_a_killed_rank(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = self.torchrun("--max-restarts", "1", self.script(folder, f"""
                import os, signal, torch, torch.distributed as dist, railweave
                dist.init_process_group("railweave")
                marker = {folder + "/died"!r}
                for step in range(5):
                    tensor = torch.ones(3)
                    if step == 2 and dist.get_rank() == 1 and not os.path.exists(marker):
                        open(marker, "w").close()
                        os.kill(os.getpid(), signal.SIGKILL)
                    dist.all_reduce(tensor)
                print("trained " + str(tensor[0].item()) + "\\n", end="")
                dist.destroy_process_group()
            """))
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(2, done.stdout.count("trained 2.0"), done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
