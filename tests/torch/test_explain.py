"""Dumps of hung jobs, and whom `railweave explain` names: each kind once. tests/torch/explain_many has more of each."""
from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import unittest
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

import railweave
import hung_folder
import hung_jobs
import ranks


def _asked(rank: int, size: int, folder: str) -> list[str]:
    """Dumps while a receive is under way. Returns the paths, and errors."""
    pending = dist.irecv(torch.empty(3), src=1 - rank) if size == 2 else None
    paths = [str(railweave.dump(folder)), str(railweave.dump(folder))]
    dist.send(torch.ones(3), dst=1 - rank)
    if pending:
        pending.wait()
    try:
        railweave.dump()
    except ValueError as error:
        paths.append(str(error))
    for bad in folder + "/none/none", str(paths[0]):
        try:
            railweave.dump(bad)
        except OSError as error:
            paths.append(type(error).__name__)
    return paths


def _many_operations(rank: int, size: int, folder: str) -> str:
    del size
    for _ in range(300):
        dist.all_reduce(torch.ones(2, 3))
    return str(railweave.dump(folder)) if rank == 0 else ""


def _with_a_relative_folder(rank: int, size: int, store: str) -> str:
    os.environ["RAILWEAVE_DUMP_DIR"] = "dumps"
    try:
        dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size)
    except RuntimeError as error:
        return str(error)
    return ""


def _times_out_while_the_folder_hangs(rank: int, size: int, store: str, folder: str) -> list[str] | None:
    """Returns the error of the operation and that of another dump, and the log."""
    os.environ["RAILWEAVE_DUMP_DIR"] = folder
    with open(f"{folder}/log-{rank}", "w+", encoding="utf-8") as log:
        os.dup2(log.fileno(), 2)
        dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size)
        dist.barrier()
        if not hung_folder.hang_in_mkdir():
            return None
        dist.group.WORLD._get_backend(torch.device("cpu")).set_timeout(timedelta(seconds=1))
        said = []
        for call in lambda: dist.recv(torch.empty(1), src=1 - rank), lambda: railweave.dump(folder):
            try:
                call()
            except (RuntimeError, OSError) as error:
                said.append(f"{type(error).__name__}: {error}")
        log.seek(0)
        return [*said, log.read()]


def _sparse_sum(rank: int, size: int, folder: str) -> str:
    dist.all_reduce(torch.sparse_coo_tensor([[rank]], [1.0], (size,), check_invariants=True))
    return str(railweave.dump(folder))


class DumpTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="railweave-test-")
        self.addCleanup(__import__("shutil").rmtree, self.folder)

    def test_a_dump_that_was_asked_for(self) -> None:
        for rank, (first, second, no_folder, no_parent, a_file) in enumerate(ranks.run(_asked, 2, self.folder)):
            self.assertNotEqual(first, second)
            self.assertEqual(0o600, stat.S_IMODE(os.stat(first).st_mode))
            dump = json.loads(Path(first).read_text(encoding="utf-8"))
            self.assertEqual(["1.0", "railweave", "asked"], [dump[key] for key in ("version", "program", "reason")])
            self.assertEqual([0, 1], dump["pg_config"]["0"]["ranks"])
            self.assertEqual(rank, dump["pg_config"]["0"]["rank"])
            (entry,) = [one for one in dump["entries"] if one["state"] != "completed"]
            self.assertEqual(["railweave:recv", "started", [1 - rank], [[3]], ["Float"]],
                             [entry[key] for key in ("profiling_name", "state", "waits_for", "input_sizes",
                                                     "input_dtypes")])
            self.assertIn("default_pg", entry["pg_name"])
            self.assertIn("dump", [frame["name"] for frame in dump["threads"][0]["frames"]])
            self.assertIn("RAILWEAVE_DUMP_DIR", no_folder)
            self.assertEqual(["FileNotFoundError", "NotADirectoryError"], [no_parent, a_file])

    def test_a_dump_is_bounded_and_has_the_last_operations(self) -> None:
        path = Path(ranks.run(_many_operations, 2, self.folder)[0])
        self.assertLessEqual(path.stat().st_size, 256 * 1024)
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
        self.assertEqual(list(range(300 - len(entries) + 1, 301)), [one["collective_seq_id"] for one in entries])
        self.assertGreaterEqual(len(entries), 200)
        self.assertEqual([[2, 3]], entries[-1]["input_sizes"])

    def test_the_folder_of_failures_is_an_absolute_path(self) -> None:
        (answer,) = ranks.outcomes(ranks.start(_with_a_relative_folder, 1))
        self.assertRegex(str(answer), "RAILWEAVE_DUMP_DIR.*absolute path")

    def test_a_folder_that_hangs_delays_no_timeout_for_long(self) -> None:
        started = ranks.start(_times_out_while_the_folder_hangs, 2, self.folder)
        for answer in ranks.outcomes(started, patience_s=60):
            if answer == (True, None):
                self.skipTest("needs the system call seccomp of Linux 5.7")
            self.assertTrue(answer and answer[0], answer)
            failed, asked, log = answer[1]
            self.assertRegex(failed, "Timed out after 1000 ms|gave up")
            self.assertRegex(asked, "TimeoutError: .*the folder of an earlier dump does not answer")
            self.assertIn(f"wrote no dump: {self.folder} does not answer", log)

    def test_a_sum_of_sparse_tensors_is_no_message(self) -> None:
        for path in ranks.run(_sparse_sum, 2, self.folder):
            entries = json.loads(Path(path).read_text(encoding="utf-8"))["entries"]
            self.assertIn("railweave:all_reduce_sparse", [one["profiling_name"] for one in entries])
            self.assertEqual([(False, 0)], list({(one["is_p2p"], one["p2p_seq_id"]) for one in entries}))


@unittest.skipUnless(Path(hung_jobs.program()).is_file(), "TESTS_PROGRAM names no program `railweave`; build it first")
class ExplainTest(unittest.TestCase):
    def test_each_kind_of_hang_is_explained(self) -> None:
        jobs = [hung_jobs.Job(kind, seed=1) for kind in (*hung_jobs.KINDS, "absent", "locked")]
        for job, (right, said) in zip(jobs, hung_jobs.judged(jobs, at_once=len(jobs))):
            with self.subTest(job.kind):
                self.assertTrue(right, said)
                self.assertRegex(said, r"hung_jobs\.py:\d+ in _")
                self.assertEqual(job.kind == "locked", "(GIL)" in said, said)

    def test_a_file_that_is_no_dump_is_skipped_with_status_1(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "railweave-x.json").write_text("[[[")
            said = hung_jobs.explain(folder)
            self.assertEqual(1, said.returncode)
            self.assertIn("railweave-x.json: is no JSON", said.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
