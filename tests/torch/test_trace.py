"""Traces and reports: their operations, waits, rails and ranks, merged files, and refused arguments."""
from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

import railweave
import ranks
from railweave import _chrome, _figures, _records, _report, _trace, timeline

_BYTES = 4 << 20
_STEPS = 4
_LATE_STEP = 2


def _traced(rank: int, size: int, store: str, folder: str, slow: bool) -> tuple[list[dict[str, Any]], bool]:
    """Runs steps of an all-gather and a reduce-scatter over TCP. If `slow`, rank 1 is late in one step. Returns the
    report, and whether a second trace is refused."""
    os.environ["RAILWEAVE_SHM"] = "off"
    dist.init_process_group("railweave", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=timedelta(seconds=60))
    shard = torch.ones(_BYTES // 4 // size)
    whole = torch.empty(_BYTES // 4)
    dist.all_gather_into_tensor(whole, shard)
    refused = False
    dist.barrier()
    with railweave.trace(f"{folder}/%r.json"):
        for number in range(_STEPS):
            railweave.step()
            if slow and rank == 1 and number == _LATE_STEP:
                time.sleep(0.5)
            dist.all_gather_into_tensor(whole, shard)
            work = dist.reduce_scatter_tensor(shard, whole, async_op=True)
            time.sleep(0.05)
            work.wait()
        try:
            railweave.trace().__enter__()
        except RuntimeError:
            refused = True
    steps = railweave.report(f"{folder}/report.jsonl")
    dist.destroy_process_group()
    return steps, refused


def _asked_for_its_clock(rank: int, _size: int) -> tuple[int, int]:
    """Returns the clock's offset and its error as if each rank were on another host. All ranks have one clock."""
    return _report._clock_offset(None, rank, ["a", "b", "c"])


def _one_step(_rank: int, _size: int) -> tuple[list[int], float]:
    """Returns the numbers of the steps, and the duration of the last one."""
    with railweave.trace():
        railweave.step()
        dist.all_reduce(torch.ones(1000))
        time.sleep(0.05)
    steps = railweave.report()
    return [step["step"] for step in steps], steps[-1]["ranks"][0]["step_s"]


def _marked_at_the_end(_rank: int, _size: int) -> tuple[int, list[int]]:
    """Calls step() at the end of each step. Returns the number of step()'s calls before, and the steps' numbers."""
    with railweave.trace():
        for _ in range(3):
            dist.all_reduce(torch.ones(1000))
            railweave.step()
    return _trace._steps - 3, [step["step"] for step in railweave.report()]


def _traced_by_subgroups(rank: int, size: int, store: str, folder: str) -> int:
    """Each rank has a group of Railweave's for itself, and a trace begins and ends when no group is left. Returns the
    number of ranks in the file."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    for other in range(size):
        dist.new_group([other], backend="railweave")
    dist.destroy_process_group()
    with railweave.trace(f"{folder}/%r.json"):
        pass
    return json.loads(Path(f"{folder}/{rank}.json").read_text())["railweave"]["world_size"]


def _traced_to_one_file(_rank: int, _size: int, folder: str) -> list[str]:
    """Every rank writes its trace to the same file, twice. Returns the texts of the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            dist.barrier()
            with railweave.trace(f"{folder}/trace.json"):
                time.sleep(0.05)  # the times of files are some milliseconds coarse
                dist.barrier()
    return [str(one.message) for one in said]


def _profiled(rank: int, _size: int, folder: str) -> None:
    """Writes a trace, and torch's profile of the same operations."""
    with railweave.trace(f"{folder}/trace-{rank}.json"), \
            torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(3):
            dist.all_reduce(torch.ones(100_000))
    profile.export_chrome_trace(f"{folder}/profile-{rank}.json")


class TraceTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="railweave-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def traced(self, slow: bool = False) -> list[dict[str, Any]]:
        found = ranks.outcomes(ranks.start(_traced, 2, str(self.folder), slow))
        for answer in found:
            self.assertTrue(answer is not None and answer[0], answer)
        (steps, refused), (others, _) = (answer[1] for answer in found)
        self.assertTrue(refused)
        self.assertEqual(steps, others)
        return steps

    def test_a_report_has_every_step_and_what_moved(self) -> None:
        steps = self.traced()
        self.assertEqual([0, 1, 2, 3], [step["step"] for step in steps])
        for step in steps:
            for one in step["ranks"]:
                self.assertGreater(one["compute_s"], 0.045)
                self.assertEqual(2, one["operations"])
                self.assertEqual(_BYTES, one["in_flight_bytes"])
                self.assertGreater(one["overlap_efficiency"], 0)
                # Half of the all-gather's output and half of the reduce-scatter's input, each way.
                for way in ("out", "in"):
                    self.assertEqual(_BYTES, sum(rail[f"{way}_bytes"] for rail in one["rails"].values()),
                                     (way, one["rails"]))
        self.assertGreater(sum(one["exposed_s"] for step in steps for one in step["ranks"]), 0)
        lines = (self.folder / "report.jsonl").read_text().splitlines()
        self.assertEqual(steps, [json.loads(line) for line in lines])
        head, *table = str(steps).splitlines()
        self.assertIn("limited by", head)
        self.assertEqual(["0", "1", "2", "3"], [row.split()[0] for row in table])

    def test_a_slow_rank_is_named(self) -> None:
        steps = self.traced(slow=True)
        self.assertEqual("rank 1", steps[_LATE_STEP]["limited_by"])
        self.assertLess(steps[0]["ranks"][0]["waited_for_others_s"], 0.3)
        self.assertGreater(steps[_LATE_STEP]["ranks"][0]["waited_for_others_s"], 0.4)
        self.assertGreater(steps[_LATE_STEP]["ranks"][0]["exposed_s"], 0.4)

    def test_files_are_merged_on_one_clock(self) -> None:
        self.traced()
        paths = [self.folder / "0.json", self.folder / "1.json"]
        whole = timeline.merged(paths)
        json.dumps(whole)
        self.assertEqual({"0": 0.0, "1": 0.0}, whole["clock_error_s"])
        names = {event["name"] for event in whole["traceEvents"]}
        self.assertTrue({"step 0", "step 3"} <= names, names)
        self.assertTrue(any(name.startswith("all_gather ") for name in names))
        # Another boot, whose clock differs by 5 s. The segments show the offset.
        other = json.loads(paths[1].read_text())
        other["railweave"]["boot"] = "another"
        other["railweave"]["monotonic_offset_ns"] += 5_000_000_000
        paths[1].write_text(json.dumps(other))
        again = timeline.merged(paths)
        self.assertLess(again["clock_error_s"]["1"], 0.01)
        first = {(e["pid"], e["name"]): e["ts"] for e in whole["traceEvents"] if e["name"].startswith("step ")}
        for event in again["traceEvents"]:
            if event["name"].startswith("step "):
                self.assertAlmostEqual(event["ts"], first[event["pid"], event["name"]], delta=10_000)
        picture = self.folder / "step.png"
        self.assertEqual(0, timeline.main(["plot", *map(str, paths), "-o", str(picture), "--step", "1"]))
        self.assertEqual(b"\x89PNG", picture.read_bytes()[:4])
        picture = picture.rename(self.folder / "step")
        self.assertEqual(0, timeline.main(["plot", *map(str, paths), "-o", str(picture)]))
        self.assertEqual([picture], list(self.folder.glob("step*")))

    def test_segments_that_no_offset_explains_give_a_warning(self) -> None:
        paths = [self.folder / "one.json", self.folder / "other.json"]
        for path, boot, starts in (paths[0], "a", {"out": 100, "in": 100}), (paths[1], "b", {"out": 90, "in": 70}):
            events = [{"ph": "X", "name": "all_reduce", "pid": 0, "tid": 10, "ts": when, "dur": 1,
                       "args": {"key": [1, (way == "out") == (boot == "a")], "way": way, "taken": when}}
                      for way, when in starts.items()]
            ours = {"rank": int(boot == "b"), "boot": boot, "monotonic_offset_ns": 0}
            path.write_text(json.dumps({"traceEvents": events, "railweave": ours}))
        with self.assertWarnsRegex(UserWarning,
                                   "one.json, .*other.json: no clock offset fits: "
                                   "some segments would arrive 0.000020 s before"):
            whole = timeline.merged(paths)
        self.assertEqual({"0": 0.0, "1": 20e-6}, whole["clock_error_s"])

    def test_files_that_cannot_be_merged_are_named(self) -> None:
        bad = self.folder / "bad.json"
        bad.write_text("[1")
        with self.assertRaisesRegex(ValueError, "bad.json: expected a Chrome trace"):
            timeline.merged([bad])
        bad.write_text('{"traceEvents": []}')
        with self.assertRaisesRegex(ValueError, "expected a Railweave trace"):
            timeline.merged([bad])
        ours = '"railweave": {"rank": 0, "boot": "a", "monotonic_offset_ns": 0}'
        step = '{"ph": "X", "name": "step 0", "pid": 0, "tid": 1, "ts": 0, "dur": 5}'
        for events in ('5', '[5]', '[{"ts": "a"}]', '[{"args": {"key": [1]}}]', f'[{step.replace("dur", "of")}]',
                       f'[{step.replace("X", "b")}]', f'[{step.replace(": 5", ": NaN")}]',
                       f'[{step.replace(": 5", ": 1e300")}]', "[" * 100_000):
            bad.write_text(f'{{"traceEvents": {events}, {ours}}}')
            with self.subTest(events=events[:80]), \
                    self.assertRaisesRegex(ValueError, "bad.json: expected a Chrome trace"):
                timeline.merged([bad])
        for missing in ("rank", "boot", "monotonic_offset_ns"):
            bad.write_text(f'{{"traceEvents": [{step}], {ours.replace(missing, "more")}}}')
            with self.subTest(missing=missing), \
                    self.assertRaisesRegex(ValueError, f"bad.json: expected a Chrome trace .*{missing}"):
                timeline.merged([bad])
        self.assertEqual(1,
                         timeline.main(["merge", str(self.folder / "none.json"), "-o", str(self.folder / "all.json")]))

    def test_a_result_that_cannot_be_written_is_named(self) -> None:
        good, said = self.folder / "good.json", io.StringIO()
        good.write_text(json.dumps(_chrome.as_chrome(_records.Records(), 0, 1)))
        with contextlib.redirect_stderr(said):
            self.assertEqual(1, timeline.main(["merge", str(good), "-o", "/dev/full"]))
        self.assertIn("'/dev/full'", said.getvalue())
        for path in ("/dev/full", b"/dev/full"):
            with self.assertRaisesRegex(OSError, "'/dev/full'"), railweave.trace(path):
                pass
        records = _records.Records()
        records.waits = [_records.Wait(20, 30, 0, "", "normal")]
        with mock.patch.object(_report, "last_records", lambda: records), \
                self.assertRaisesRegex(OSError, "'/dev/full'"):
            railweave.report("/dev/full")

    def test_a_missing_folder_is_named_before_anything_is_traced(self) -> None:
        begun = []
        told = "trace: no such folder: .*/none; it is for: '.*/none/x-0.json'"
        with self.assertRaisesRegex(FileNotFoundError, told), railweave.trace(self.folder / "none" / "x-0.json"):
            begun.append(True)
        self.assertEqual([], begun)
        with railweave.trace():  # the refused trace left none on
            pass
        with self.assertRaisesRegex(TypeError, "trace: expected a path or None, found 5"):
            railweave.trace(5)
        environment = {**os.environ, "PYTHONWARNINGS": "default", "RAILWEAVE_TRACE": f"{self.folder}/none/x.json"}
        done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent("""
            import torch.distributed as dist
            dist.init_process_group("railweave", store=dist.HashStore(), rank=0, world_size=1)
            print("goes on")
            """)], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual((0, "goes on\n"), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, "RAILWEAVE_TRACE=.*/none/x.json: .*no such folder.*; nothing is traced")

    def test_a_report_to_others_is_refused(self) -> None:
        with self.assertRaisesRegex(ranks.RankFailed,
                                    "rank 1:\n(.*\n)*ValueError: report: expected a group with this rank"):
            ranks.run(lambda _rank, _size: railweave.report(group=dist.new_group([0])), 2)

    def test_the_variable_records_from_the_first_group_on(self) -> None:
        environment = {**os.environ, "RAILWEAVE_TRACE": f"{self.folder}/whole-%r.json"}
        done = subprocess.run([sys.executable, "-B", "-c", textwrap.dedent("""
            import tempfile, torch, torch.distributed as dist, railweave
            dist.init_process_group("railweave", init_method="file://" + tempfile.mktemp(), rank=0, world_size=1)
            dist.all_reduce(torch.ones(100_000))
            dist.destroy_process_group()
            """)], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        whole = json.loads((self.folder / "whole-0.json").read_text())
        self.assertTrue(any(event["name"].startswith("all_reduce ") for event in whole["traceEvents"]))

    def test_ranks_of_subgroups_write_files_of_their_own(self) -> None:
        found = ranks.outcomes(ranks.start(_traced_by_subgroups, 2, str(self.folder)))
        self.assertEqual([(True, 2)] * 2, found)
        self.assertEqual(["0.json", "1.json"], sorted(path.name for path in self.folder.iterdir()))

    def test_ranks_that_were_given_one_file_keep_their_traces(self) -> None:
        (self.folder / "trace.json").write_text("of another day")
        said = [one for of_rank in ranks.run(_traced_to_one_file, 2, str(self.folder)) for one in of_rank]
        self.assertEqual(2, len(said), said)  # one each time
        self.assertRegex(said[0], "another process wrote .*/trace.json meanwhile")
        for path in self.folder.iterdir():
            self.assertIn("railweave", json.loads(path.read_text()))
        self.assertGreater(len(list(self.folder.iterdir())), 1)

    def test_a_file_that_another_wrote_just_after_the_start_is_kept(self) -> None:
        for number in range(20):
            path = self.folder / f"{number}.json"
            with self.assertWarns(UserWarning), railweave.trace(path):
                path.write_text("another's")
                # The time of the last tick, as kernels before 6.13 stamp files.
                os.utime(path, ns=(time.clock_gettime_ns(_trace._CLOCK_OF_FILES),) * 2)
            self.assertEqual("another's", path.read_text())

    def test_a_process_writes_over_its_own_trace_at_once(self) -> None:
        for _ in range(20):
            with railweave.trace(self.folder / "trace.json"):
                pass
        self.assertEqual(["trace.json"], [path.name for path in self.folder.iterdir()])

    def test_a_process_without_groups_writes_nothing(self) -> None:
        subprocess.run([sys.executable, "-B", "-c", "import railweave"], check=True, timeout=60,
                       env={**os.environ, "RAILWEAVE_TRACE": f"{self.folder}/none.json"})
        self.assertEqual([], list(self.folder.iterdir()))

    def test_ranks_of_other_boots_ask_each_other(self) -> None:
        for offset, error in ranks.run(_asked_for_its_clock, 3):
            self.assertLess(abs(offset), 0.05e9)
            self.assertLessEqual(abs(offset), error)

    def test_a_profile_goes_beside(self) -> None:
        self.traced()
        profile = {"traceEvents": [{"name": "aten::mm", "ph": "X", "pid": 0, "tid": 7, "ts": 5.0, "dur": 1.0, "id": 3}],
                   "baseTimeNanoseconds": time.time_ns(), "distributedInfo": {"rank": 1}}
        path = self.folder / "profile.json"
        path.write_text(json.dumps(profile))
        whole = timeline.merged([self.folder / "0.json", self.folder / "1.json", path])
        found = [event for event in whole["traceEvents"] if event["name"] == "aten::mm"]
        self.assertEqual(["rank 1: 0"], [event["pid"] for event in found])
        last = max(event["ts"] for event in whole["traceEvents"] if event["name"].startswith("step "))
        self.assertTrue(last < found[0]["ts"] < last + 60e6, (last, found))

    def test_a_profile_of_torchs_is_on_the_same_clock(self) -> None:
        ranks.run(_profiled, 2, str(self.folder))
        whole = timeline.merged(sorted(self.folder.glob("*.json")))["traceEvents"]
        for rank in range(2):
            calls = [(e["ts"], e["ts"] + e["dur"]) for e in whole
                     if str(e.get("pid")).startswith(f"rank {rank}: ") and e["name"].startswith("c10d::allreduce")]
            issued = [e["ts"] for e in whole if e.get("pid") == rank and e["ph"] == "b"
                      and e["name"].startswith("all_reduce ") and e["cat"] != "compute waits"]
            self.assertEqual((3, 3), (len(calls), len(issued)))
            for begin in issued:
                self.assertTrue(any(first <= begin <= last for first, last in calls), (begin, calls))

    def test_a_report_of_nothing(self) -> None:
        with railweave.trace():
            pass
        steps = railweave.report()
        self.assertEqual(([], "no steps: railweave.step() was not called within a railweave.trace()"),
                         (steps, str(steps)))

    def test_the_end_of_a_trace_ends_its_last_step(self) -> None:
        for numbers, seconds in ranks.run(_one_step, 2):
            self.assertEqual(1, len(numbers))
            self.assertGreater(seconds, 0.045)  # the time after the last operation counts, too

    def test_marks_at_the_end_of_each_step_make_no_empty_one(self) -> None:
        for first, numbers in ranks.run(_marked_at_the_end, 2):
            self.assertEqual([first, first + 1], numbers)


def _operation(begin: int, end: int, bytes: int = 0, what: int = 0, live: int | None = None) -> _records.Operation:
    return _records.Operation(begin, end, what, bytes, begin if live is None else live, "", "normal")


class FiguresTest(unittest.TestCase):
    def test_a_trace_that_ran_out_of_room_has_no_last_step(self) -> None:
        for dropped, expected in (0, [(4, 10, 90)]), (1, []):
            records = _records.Records(dropped=dropped, end=90)
            records.steps, records.waits = [_records.Step(10, 4)], [_records.Wait(20, 30, 0, "", "normal")]
            self.assertEqual(expected, records.spans_of_steps())

    def test_intervals(self) -> None:
        self.assertEqual([[0, 5], [7, 9]], _figures.union([(3, 5), (0, 4), (7, 9), (8, 8)]))
        self.assertEqual(3, _figures.overlap_of([(0, 5), (6, 8)], [(3, 7)]))
        self.assertEqual(0, _figures.overlap_of([], [(3, 7)]))

    def test_who_limits(self) -> None:
        step = {"step_s": 1.0, "exposed_s": 0.5,
                "rails": {"eth0": {"busy_while_exposed": 0.95}, "eth1": {"busy_while_exposed": 0.97}}}
        self.assertEqual("rank 3", _figures.limit_of(step, {3: 2e8, 1: 1e7}, 0))
        self.assertEqual("memory", _figures.limit_of(step, {}, 4e8))
        self.assertEqual("rails", _figures.limit_of(step, {1: 5e7}, 1e8))
        self.assertEqual("compute", _figures.limit_of({**step, "exposed_s": 0.01}, {}, 0))
        step["rails"]["shm"] = step["rails"]["eth1"] = {"busy_while_exposed": 0.2}
        self.assertEqual("rails", _figures.limit_of(step, {}, 0))  # the other rails wait for the full one
        step["rails"]["eth0"] = {"busy_while_exposed": 0.8}
        self.assertEqual("latency", _figures.limit_of(step, {}, 0))
        for rails in ({}, {"shm": {"busy_while_exposed": 0.95}}):
            self.assertEqual("host", _figures.limit_of({**step, "rails": rails}, {}, 0))

    def test_what_reaches_over_a_mark_is_of_both_steps(self) -> None:
        records = _records.Records()
        records.waits = [_records.Wait(*when, 0, "", "normal") for when in ((1, 9), (5, 15), (10, 20), (25, 30))]
        records.operations = [_operation(0, 40)]
        parts = _figures.by_step(records, [(0, 0, 10), (1, 10, 20)])
        self.assertEqual([[(1, 9), (5, 15)], [(5, 15), (10, 20)]],
                         [[(one.begin, one.end) for one in part.waits] for part in parts])
        self.assertEqual([records.operations] * 2, [part.operations for part in parts])

    def test_figures_of_a_step(self) -> None:
        second = 10**9
        records = _records.Records()
        records.operations = [_operation(0, 4 * second, bytes=100), _operation(3 * second, 8 * second, bytes=50)]
        records.waits = [_records.Wait(2 * second, 5 * second, 0, "", "normal"),
                         _records.Wait(9 * second, 12 * second, 0, "", "normal")]
        records.sent = [_records.Segment(0, 3 * second, 0, 2 * second, "eth0", 0, (0, 0)),
                        _records.Segment(8 * second, 11 * second, 0, 7, "eth0", 0, (0, 1))]
        found = _figures.figures(records, 0, 10 * second)
        self.assertEqual((10.0, 6.0, 4.0), (found["step_s"], found["compute_s"], found["exposed_s"]))
        self.assertEqual(1 - 3 / 8, found["overlap_efficiency"])
        self.assertEqual((2, 150, 2), (found["operations"], found["in_flight_bytes"], found["in_flight_operations"]))
        # A segment that arrives later counts for the next step. The rail is busy while exposed from 2 to 3 and from 9
        # to 10.
        self.assertEqual({"eth0": {"out_bytes": 2 * second, "in_bytes": 0, "out_gbps": 1.6, "in_gbps": 0.0,
                                   "busy_while_exposed": 0.5}}, found["rails"])

    def test_under_a_window_the_scheduler_knows_what_is_in_flight(self) -> None:
        records = _records.Records()
        records.operations = [_operation(0, 10, bytes=100), _operation(0, 10, bytes=100)]
        records.in_flight = [_records.InFlight(1, 1, 100, 1), _records.InFlight(5, 5, 60, 2)]
        found = _figures.figures(records, 0, 10)
        self.assertEqual((100, 2), (found["in_flight_bytes"], found["in_flight_operations"]))

    def test_the_most_at_once(self) -> None:
        operations = [_operation(0, 10, bytes=1), _operation(2, 20, bytes=2, live=10), _operation(12, 30, bytes=4),
                      _operation(40, 50, bytes=8)]
        # The first operation ends as the second becomes live.
        self.assertEqual(6, _figures.most_at_once(operations, 0, 35, lambda one: one.bytes))
        self.assertEqual(2, _figures.most_at_once(operations, 0, 12, lambda one: one.bytes))
        self.assertEqual(0, _figures.most_at_once(operations, 30, 40, lambda one: one.bytes))

    def test_waits_for_memory(self) -> None:
        names = {1: "reduce_scatter 1", 2: "all_gather 2"}
        records = _records.Records()
        records.operations = [_operation(0, 90, what=1), _operation(60, 90, what=1), _operation(80, 90, what=2),
                              _operation(200, 300, what=1)]
        records.waits = [_records.Wait(*when, what, "", "normal")
                         for *when, what in ((10, 20, 1), (30, 40, 2), (50, 70, 1), (85, 90, 1))]
        self.assertEqual(10 + 10, _figures.memory_waits(records, 0, 100, names.get))

    def test_a_step_is_judged_by_who_waited_longest_for_others(self) -> None:
        def waited(others: float, exposed: float) -> dict[str, float]:
            return {"step_s": 1.0, "waited_for_others_s": others, "exposed_s": exposed}
        # A wait for others of 0.05 of a step is too short to count.
        self.assertEqual(1, _report._judge([waited(0.05, 0.2), waited(0.0, 0.3)])[0])
        self.assertEqual(0, _report._judge([waited(0.15, 0.2), waited(0.0, 0.9)])[0])
        self.assertEqual(2, _report._judge([waited(0.15, 0.9), waited(0.0, 0.9), waited(0.2, 0.3)])[0])

    def test_waits_for_a_late_rank(self) -> None:
        wait = railweave._records.Wait(100, 200, 7, 0, "normal")
        issues = {(0, "normal", 7): {0: 90, 1: 150, 2: 180}}
        self.assertEqual({2: 80}, _figures.waited_for([wait], issues, 0, 0, 300))
        self.assertEqual({}, _figures.waited_for([wait], issues, 2, 0, 300))

    def test_a_wait_across_a_mark_is_divided_among_its_steps(self) -> None:
        wait = _records.Wait(10, 190, 7, "", "normal")
        issues = {("", "normal", 7): {0: 5, 1: 180}}
        self.assertEqual([{1: 90}, {1: 80}],
                         [_figures.waited_for([wait], issues, 0, *step) for step in ((0, 100), (100, 200))])


if __name__ == "__main__":
    unittest.main()
