"""tools/bench and tools/compare without measuring: acceptance.json, formulas, bounds, values out of JSON, verdicts.
Pure; runs anywhere."""
from __future__ import annotations

import argparse
import dataclasses
import json
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support
from bench import acceptance, host, measure, pooled, results, rows
from bench.formula import FormulaError, evaluate, holds
from bench.programs import command, missing, missing_file
from bench.values import NoValue, at_path, median, of_pairs, rate_after_event, take, without_series
from bench.compare import cli as compare
from lab import run_options
from lab import steps as lab_steps


class Formulas(unittest.TestCase):
    def test_arithmetic(self) -> None:
        self.assertAlmostEqual(evaluate("(a - 1) / (2 * b)", {"a": 4.0, "b": 3.0}), 0.5)
        self.assertEqual(evaluate("min(a / 2, b)", {"a": 4.0, "b": 3.0}), 2.0)

    def test_nothing_else(self) -> None:
        for text in ("c", "a.b", "__import__('os')", "a if a else a", "a ** a", "a /", "a / 0", "[a]"):
            with self.assertRaises(FormulaError, msg=text):
                evaluate(text, {"a": 1.0})

    def test_bounds(self) -> None:
        self.assertTrue(holds(0.97, ">= 0.97"))
        self.assertFalse(holds(0.9699, ">= 0.97"))
        self.assertTrue(holds(0, "== 0"))
        with self.assertRaises(FormulaError):
            holds(1, "about 1")


class Alone(unittest.TestCase):
    def test_one_measurement_at_a_time(self) -> None:
        with host.alone("railweave-test-bench"):
            with self.assertRaisesRegex(host.Busy, "another tools/bench"), host.alone("railweave-test-bench"):
                pass
        with host.alone("railweave-test-bench"):
            pass


class ComparedSides(unittest.TestCase):
    """tools/compare refuses to measure without our side, or one side of several alone."""

    def refused(self, lacking: str, *argv: str) -> str:
        missing = mock.patch.object(compare, "missing",
                                    side_effect=lambda name, _: f"{name} is not there" if lacking in name else None)
        with missing, mock.patch("sys.stderr"), self.assertRaises(ValueError) as raised:
            compare._sweep(compare._parse([*argv]), Path("bin"))
        return str(raised.exception)

    def test_without_ours(self) -> None:
        self.assertIn("`make programs` first", self.refused("all_gather_perf"))

    def test_one_of_two(self) -> None:
        self.assertIn("of 2 sides 1 is there", self.refused("mpi", "--sides", "gloo,mpi"))

    def test_one_alone_was_asked_for(self) -> None:
        with mock.patch.object(compare, "missing", return_value=None):
            self.assertEqual(("gloo",), compare._sweep(compare._parse(["--sides", "gloo"]), Path("bin")).sides)


class Values(unittest.TestCase):
    kData = {"results": [{"events": [{"t_s": 1.0, "exit": 0}], "ranks": [
        {"t0_monotonic_ns": 1_000_000_000},
        {"t0_monotonic_ns": 1_500_000_000, "series": {"interval_ms": 500, "t_s": [0.5, 1.0, 1.5, 2.0, 2.5],
                                                      "received_bytes": [9, 9, 9, 125_000_000, 62_500_000]}}]}]}

    def test_path(self) -> None:
        self.assertEqual(at_path({"a": [{"b": 1}, {"b": 2}]}, "a.-1.b"), 2)
        for path in ("a.2.b", "x", "a.0.c", "a", "a.x"):
            with self.assertRaises(NoValue):
                at_path({"a": [{"b": 1}]}, path)

    def test_figures_by_size(self) -> None:
        data = {"results": [{"size": 0, "t": {"us": 1}}, {"size": 8, "t": {"us": 2}}, {"size": 16, "t": {"us": 3}}]}
        self.assertEqual(take(data, {"by_size": "t.us", "scale": 10, "size_factor": 2}), {"16": 20, "32": 30})
        with self.assertRaises(NoValue):
            take({"results": []}, {"by_size": "t.us"})
        self.assertEqual(median([{"8": 1, "16": 5}, {"8": 3}, {"8": 2}]), {"8": 2})
        self.assertEqual(median([1.0, 9.0, 2.0]), 2.0)

    def test_of_pairs__returns_the_ratios_with_their_interval(self) -> None:
        ours, before = [9.0, 10.0, 11.0, 20.0], [10.0, 10.0, 10.0, 20.0]
        found = of_pairs(ours, before)
        self.assertEqual((found["median"], found["samples"]), (1.0, [0.9, 1.0, 1.1, 1.0]))
        self.assertTrue(0.86 < found["low"] < 0.9 and 1.1 < found["high"] < 1.16, found)
        with self.assertRaisesRegex(NoValue, "of 1 pairs there is no interval"):
            of_pairs([1.0], [1.0])

    def test_a_pair_counts_where_both_of_it_do(self) -> None:
        raw = {"ours": [{"x": x} for x in (9.0, 1.0, 3.0, 8.0)], "before": [{"x": x} for x in (3.0, 1.0, 1.0, 4.0)]}
        spec = {"side": "ours", "over": "before", "path": "x"}
        self.assertEqual(measure._value(spec, raw, {"ours": [0, 2, 3], "before": [0, 1, 3]})["samples"], [3.0, 2.0])

    def test_window_is_in_the_senders_time(self) -> None:
        # Event at 2.0 s of the common clock, window from 3.0 s, which is 1.5 s of the receiver's own.
        self.assertAlmostEqual(rate_after_event(self.kData, 1.0), (1.0 + 0.5) / 1.0)
        with self.assertRaises(NoValue):
            rate_after_event(self.kData, 9.0)

    def test_series_are_left_out(self) -> None:
        self.assertNotIn("series", json.dumps(without_series(self.kData)))


class Acceptance(unittest.TestCase):
    # The bounds that cases of an id may have. docs/internals/bench.md gives the reasons. A bound is never loosened.
    kBounds = {"A1": {">= 0.97", ">= 0.95"}, "A2": {">= 0.95", ">= 0.90"}, "A3": {">= 0.95"}, "A4": {">= 0.95"},
               "A5": {"<= 1.15"}, "A6": {"<= 1.25", "<= 1.5"}, "A7": {"<= 0"}, "A8": {"== 0", "<= 64"},
               "E1": {">= 1.9", ">= 1.04", ">= 1"}, "B1": {">= 0.95", ">= 0.85", ">= 0.90"}, "B2": {">= 1.9", ">= 3"},
               "B3": {">= 2", ">= 1"}, "B4": {"<= 1.10", "<= 1"}, "C3": {">= 1.9", ">= 3", ">= 0.97", "<= 1"},
               "O1": {"<= 1.08", ">= 1.9", "== 0"}, "O2": {">= 0.90", ">= 1.6", "== 0"},
               "O3": {"<= 1.05", "== 0"}, "O4": {"<= 0.5", "<= 1.02"},
               "O5": {"<= 1.01", "<= 1.03", "== 0", "<= 2", "== 1"}, "O6": {"<= 1.10", "== 0", ">= 0.90"},
               "R1": {"<= 0.5", "<= 1.5", "<= 3", "<= 5", ">= 0.9", ">= 0.5", "== 0"},
               "R2": {"<= 2", "<= 3", "<= 5", "<= 8", ">= 0", "== 0"},
               "R4": {">= 0.97", "<= 1.03", ">= 0.005", "== 0"}, "R7": {">= 0.95"}, "F1": {">= 0.95", "== 0"},
               "F2": {"<= 1200", "<= 0.25", "== 0"}, "F3": {">= 0.97", "<= 1.03", ">= 0.005"}, "F4": {">= 0.95"},
               "N1": {">= 0.97", "== 0"}, "N2": {"<= 0.15", "<= 0.6", "<= 1.5", "<= 5", ">= 0.5", "== 0"},
               "N2x20": {"<= 0.15", "<= 0.6", "<= 1.5", "<= 5", "== 0"}, "N3": {">= 0.90", "== 0"},
               "N4": {"<= 0.001", "== 0"}, "N5": {"<= 5", "== 0"}, "N6": {">= 0.97", "<= 1.03", ">= 0.005"},
               "N7": {">= 60", ">= 100", "== 0"}, "S3": {">= 0.98", "<= 1.03", "<= 1.01"},
               "W4": {">= 0.90", "<= 1"}}

    def test_file_is_valid_and_complete(self) -> None:
        cases = acceptance.load()
        self.assertEqual(sorted({case.id for case in cases}), sorted(self.kBounds))
        self.assertEqual(len({case.full_name for case in cases}), len(cases))
        for case in cases:
            self.assertTrue({check.bound for check in case.checks if not check.yardstick} <= self.kBounds[case.id],
                            case.full_name)
            # Cases of these ids make their rounds within a run, or as many runs as the bound needs.
            others = ("A8", "O1", "O2", "O3", "O4", "O5", "O6", "R1", "R2", "R4", "R7", "S3", "F3")
            self.assertTrue(case.runs == 5 or case.id[0] == "N" or (case.id[0] == "F" and case.runs == 3)
                            or case.id in others, case.full_name)

    def test_stricter_bound_for_the_host_shape(self) -> None:
        for case in acceptance.choose(acceptance.load(), ["A1"]):
            bound = next(check.bound for check in case.checks if not check.yardstick)
            self.assertEqual(bound, ">= 0.97" if case.name.endswith("/host") else ">= 0.95")

    def test_collectives_are_held_to_their_bounds_at_every_size(self) -> None:
        for case in acceptance.choose(acceptance.load(), ["B1", "B2", "B3", "B4"]):
            sizes = {size for check in case.checks for size in check.sizes}
            self.assertTrue(all(check.sizes for check in case.checks if not check.yardstick), case.full_name)
            self.assertTrue(all(size & (size - 1) == 0 for size in sizes), case.full_name)
        covered = {size for case in acceptance.choose(acceptance.load(), ["B4/lab/all_reduce"]) for check in case.checks
                   for size in check.sizes}
        self.assertEqual(covered, {8 << n for n in range(26)})

    def test_the_worst_size_decides(self) -> None:
        check = acceptance.Check("", "a / b", ">= 0.5", False, (8, 16))
        found = measure._check(check, {"a": {"8": 1.0, "16": 1.0}, "b": {"8": 1.0, "16": 4.0}, "c": {"8": 1.0}})
        self.assertEqual((found["value"], found["at"], found["ok"]), (0.25, 16, False))
        with self.assertRaises(FormulaError):
            measure._check(check, {"a": {"8": 1.0}, "b": {"8": 1.0}})

    def test_choice(self) -> None:
        cases = acceptance.load()
        self.assertEqual([case.full_name for case in acceptance.choose(cases, ["A1/2x2/host"])], ["A1/2x2/host"])
        but_by_hand = [case for case in cases if case.id != "N2x20"]
        self.assertEqual(acceptance.choose(cases, []), but_by_hand)
        self.assertTrue(acceptance.choose(cases, ["N2x20"]))
        with self.assertRaisesRegex(LookupError, "no 'A9' in acceptance.json; it has A1, A2, .*--list"):
            acceptance.choose(cases, ["A9"])

    def test_a_side_may_name_an_environment_and_a_commits_plugin(self) -> None:
        argv = command(["net_perf@5ee1e55", "--both"], Path("bin"), {"RAILWEAVE_CHECKSUM": "1"})
        self.assertEqual(argv[:4], ["env", "RAILWEAVE_CHECKSUM=1", "bin/net_perf", "--plugin"])
        self.assertRegex(argv[4], "/build/commits/5ee1e55/.*/libnccl-net-railweave.so$")
        self.assertEqual(argv[5:], ["--both"])
        self.assertIn("tools/build-commit 5ee1e55 railweave_net", missing("net_perf@5ee1e55", Path("bin")))

    def test_the_plugin_of_another_project_is_linked_into_the_build(self) -> None:
        argv = command(["net_perf@aws-ofi-nccl", "--both"], Path("bin"), {"RAILWEAVE_OFI_LIBRARY": ".venv/lib/x.so"})
        self.assertRegex(argv[1], "^RAILWEAVE_OFI_LIBRARY=/.*/.venv/lib/x.so$")
        self.assertRegex(argv[4], "/build/peers/aws-ofi-nccl/libnccl-net-ofi.so$")
        with mock.patch("bench.programs.Path.exists", return_value=False):
            self.assertIn("link its library to build/peers", missing("net_perf@aws-ofi-nccl", Path("bin")) or "")
            self.assertIn("(tools/setup)", missing_file({"A": "x", "B": ".venv/lib/x.so"}) or "")
            self.assertIsNone(missing_file({"A": "x"}))

    def test_a_missing_optional_side_takes_only_what_needs_it(self) -> None:
        case = acceptance.choose(acceptance.load(), ["W4/2x2/host"])[0]
        with mock.patch.object(measure, "missing",
                               side_effect=lambda name, *_: f"{name} is not there" if "aws" in name else None):
            rest, left_out = measure.without_missing(case, Path("bin"))
            self.assertIn("net_perf@aws-ofi-nccl is not there",
                          measure._missing(acceptance.choose(acceptance.load(), ["W4/round-trip"])[0], Path("bin")))
        self.assertEqual(left_out, {"aws": "net_perf@aws-ofi-nccl is not there"})
        self.assertEqual(case.sides.keys() - rest.sides.keys(), {"aws"})
        self.assertEqual(case.values.keys() - rest.values.keys(), {"aws_gbps"})
        self.assertEqual(case.checks, rest.checks)
        with mock.patch.object(measure, "missing", return_value=None):
            needs = dataclasses.replace(case, checks=[acceptance.Check("", "ofi_2_gbps / aws_gbps", ">= 1", False)])
            self.assertEqual(measure.without_missing(needs, Path("bin")), (needs, {}))
        with mock.patch.object(measure, "missing", side_effect=lambda name, *_: "gone" if "aws" in name else None):
            self.assertEqual(measure.without_missing(needs, Path("bin"))[0].checks, [])

    def test_a_collective_program_at_a_commit_is_its_own_binary(self) -> None:
        argv = command(["all_reduce_perf@5ee1e55", "-n", "4"], Path("bin"))
        self.assertRegex(argv[0], "/build/commits/5ee1e55/.*/bin/all_reduce_perf$")
        self.assertEqual(argv[1:], ["-n", "4"])
        self.assertIn("tools/build-commit 5ee1e55 all_reduce_perf", missing("all_reduce_perf@5ee1e55", Path("bin")))

    def test_instructions_perf_names_valgrind_where_it_is_missing(self) -> None:
        with mock.patch("bench.programs.shutil.which", return_value=None):
            self.assertIn("valgrind", missing("instructions_perf", Path("bin")) or "")

    def test_what_is_over_nothing_is_told_when_the_file_is_read(self) -> None:
        value = {"side": "ours", "over": "raw", "path": "x"}
        entry = {"id": "A1", "case": "x", "what": "", "lab": [], "sides": {"ours": {}, "raw": {}},
                 "values": {"x": value}}
        self.assertEqual(acceptance._case(entry, {"runs": 1, "timeout_s": 1}).values["x"], value)
        for wrong, said in (({"over": "raws"}, "'raws', which is no side"), ({"by_size": "x"}, "has no pairs")):
            with self.assertRaisesRegex(ValueError, said):
                acceptance._case({**entry, "values": {"x": {**value, **wrong}}}, {"runs": 1, "timeout_s": 1})

    def test_a_case_of_rows_is_one_of_each(self) -> None:
        entry = {"id": "N1", "case": "each row", "rows": "some", "what": "$bad, $rails", "lab": ["--a"],
                 "sides": {"ours": {"argv": ["x", "$rails"]}}, "values": {}}
        made = rows.expanded(entry, {"some": [{"name": "one", "lab": ["--b"], "rails": 2, "bad": "slow"},
                                              {"name": "two", "lab": [], "rails": 1, "bad": ""}]})
        self.assertEqual([(case["case"], case["what"], case["lab"], case["sides"]["ours"]["argv"]) for case in made],
                         [("one", "slow, 2", ["--a", "--b"], ["x", "2"]), ("two", ", 1", ["--a"], ["x", "1"])])
        own = {**entry, "rows": [{"name": "own", "lab": [], "rails": 2, "bad": ""}],
               "checks": [{"formula": "x / $rails"}]}
        self.assertEqual([(case["case"], case["checks"]) for case in rows.expanded(own, {})],
                         [("own", [{"formula": "x / 2"}])])
        with self.assertRaises(KeyError):
            rows.expanded({**entry, "what": "$none"}, {"some": [{"name": "one", "lab": []}]})

    def test_a_skip_that_holds_outweighs_the_checks(self) -> None:
        case = acceptance.choose(acceptance.load(), ["F2"])[0]
        good = {"ours_p50_us": 1200, "ours_p99_us": 2500, "raw_p99_us": 10000, "raw_gbps": 0.95, "ours_failed": 0,
                "raw_failed": 0}
        for figures, verdict in (({"ours_busy": 0.699, "raw_busy": 0.4}, "PASS"),
                                 ({"ours_busy": 0.7, "raw_busy": 0.4}, "SKIP"),
                                 ({"ours_busy": 0.4, "raw_busy": 0.8}, "SKIP"),
                                 ({"ours_busy": 0.4, "raw_busy": 0.4, "ours_p50_us": 1201}, "FAIL"),
                                 ({"ours_busy": 0.4, "raw_busy": 0.4, "ours_p99_us": 2501}, "FAIL"),
                                 ({"ours_busy": 0.9, "raw_busy": 0.4, "ours_p50_us": 9000}, "SKIP")):
            outcome = measure.Outcome(case, "FAIL",
                                      values={name: {"median": value} for name, value in (good | figures).items()})
            measure._judge(outcome)
            self.assertEqual(outcome.verdict, verdict, figures)
            self.assertEqual("busy: 0." in outcome.reason, verdict == "SKIP", outcome.reason)

    def test_a_skip_by_an_unknown_value_is_an_error_at_load(self) -> None:
        entry = {"id": "F2", "case": "x", "what": "", "sides": {"ours": {}},
                 "values": {"x": {"side": "ours", "path": "x"}},
                 "skip": [{"name": "", "formula": "y", "bound": ">= 0.7"}]}
        with self.assertRaisesRegex(FormulaError, "neither arithmetic nor one of x"):
            acceptance._case(entry, {"runs": 1, "timeout_s": 1})

    def test_sides_alternate(self) -> None:
        case = acceptance.choose(acceptance.load(), ["A1/2x2/host"])[0]
        names = [step["name"]
                 for step in measure.steps(case, Path("bin"), {"ours": range(2), "raw": range(3, 6)}, Path("key"))]
        self.assertEqual(names, ["ours-0", "raw-3", "ours-1", "raw-4", "raw-5"])

    def test_only_a_side_with_a_key_gets_the_key_of_its_case(self) -> None:
        case = acceptance.choose(acceptance.load(), ["R4/encryption"])[0]
        encrypted, clear = measure.steps(case, Path("bin"), {"encrypted": range(1), "clear": range(1)}, Path("/a/key"))
        self.assertEqual(encrypted["argv"][:3], ["env", "RAILWEAVE_ENCRYPT=1", "RAILWEAVE_KEY_FILE=/a/key"])
        self.assertEqual(clear["argv"], encrypted["argv"][3:])

    def test_many_ranks_on_each_core_do_not_go_before_the_kernel(self) -> None:
        for case in acceptance.load():
            self.assertEqual("--no-favour" in case.lab, case.id in ("F1", "F4", "R7"), case.full_name)

    def test_a_lab_favours_its_ranks_unless_the_case_says_otherwise(self) -> None:
        parser = argparse.ArgumentParser()
        run_options.add(parser.add_subparsers())
        for options, favoured in ((["--nics", "1"], True), (["--no-favour"], False)):
            with mock.patch.object(lab_steps.subprocess, "Popen", side_effect=OSError) as started, \
                    self.assertRaises(OSError):
                lab_steps.in_lab(options, Path("plan"), lambda step: None)
            argv = started.call_args.args[0]
            self.assertIs(parser.parse_args(argv[argv.index("run"):]).favour, favoured)


class Pooled(unittest.TestCase):
    """A figure that is computed from all cases of an id."""

    kRuns = [({"name": f"x{x}", "visible": told}, {"ours": [{"s": {"x": x}}]})
             for told, x in ((True, 1), (True, 3), (False, 5), (True, 2))]

    def pool(self, runs: list, **spec: object) -> float:
        return pooled.value({"side": "ours", "path": "s.x", **spec}, runs)["median"]

    def test_takes(self) -> None:
        self.assertEqual(self.pool(self.kRuns, take="median", where={"visible": True}), 2)
        self.assertEqual([self.pool(self.kRuns, take=take) for take in ("max", "min", "sum")], [5, 1, 11])
        self.assertEqual(pooled.value({"side": "ours", "path": "s.x", "take": "max"}, self.kRuns)["at"], "x5")

    def test_the_99th_percentile_of_60_100_and_200_runs(self) -> None:
        for count, expected in ((60, 59), (100, 98), (200, 197)):
            runs = [({"name": str(x)}, {"ours": [{"s": {"x": x}}]}) for x in range(count)]
            self.assertEqual(self.pool(runs, take="p99"), expected)

    def test_failed_cases_are_left_out_and_none_left_is_no_figure(self) -> None:
        self.assertEqual(self.pool([*self.kRuns, ({"name": "y", "visible": True}, {})], take="sum"), 11)
        with self.assertRaises(NoValue):
            self.pool([({}, {})], take="sum")

    def test_verdict_is_of_the_cases_before(self) -> None:
        case = acceptance.choose(acceptance.load(), ["N2/together"])[0]
        row = {"visible": True, "excuse": "", "watch_s": 20.5}
        figures = {"median_s": 0.1, "p99_s": 0.2, "full_speed_s": 1, "least_after_full": 0.9, "errors": 0,
                   "wrong_bytes": 0}
        others = [measure.Outcome(mock.Mock(row=row | {"name": str(told), "visible": told}), "PASS",
                                  raw={"ours": [{"summary": figures | more}]})
                  for told, more in ((True, {}), (False, {"median_s": 0.5}))]
        self.assertEqual(measure.pool(case, others).verdict, "PASS")
        others[0].raw["ours"][0]["summary"]["errors"] = 1
        self.assertEqual(measure.pool(case, others).verdict, "FAIL")
        self.assertEqual(measure.pool(case, []).verdict, "SKIP")


class ResultsTold(unittest.TestCase):
    def test_commits_are_those_of_the_results(self) -> None:
        root = acceptance.kFile.parents[1]
        (table,) = re.findall(r"\| rows \| what \| commit \|\n\|[-|]+\n(.*?)\n\n",
                              (root / "docs" / "guide" / "results.md").read_text(), re.DOTALL)
        told = {}
        for line in table.splitlines():
            rows, _, commits = (cell.strip() for cell in line.strip("|").split("|"))
            groups, found = rows.split(";"), re.findall(r"[0-9a-f]{7}", commits)
            for group, commit in zip(groups, found * len(groups) if len(found) == 1 else found, strict=False):
                told |= {name.strip(): commit for name in group.split(",")}
        untold = {path.stem for path in (root / "perf" / "results").glob("*.json") if path.stem[0] not in "RS"}
        for rows, commit in told.items():
            pattern = rows if rows[-1].isdigit() else rows + r"\d"
            results = [path for path in (root / "perf" / "results").glob("*.json") if re.fullmatch(pattern, path.stem)]
            self.assertEqual({json.loads(path.read_text())["commit"][:7] for path in results}, {commit}, rows)
            untold -= {path.stem for path in results}
        self.assertEqual(untold, set(), "results without a line in the table")


class Host(unittest.TestCase):
    def cores(self, line: str) -> host.Cores:
        with tempfile.TemporaryDirectory() as folder:
            stat = Path(folder) / "stat"
            stat.write_text(line + "\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
            return host.Cores.now(stat)

    def test_share_is_of_what_was_wanted(self) -> None:
        before = self.cores("cpu  100 0 50 9000 10 0 5 40 0 0")
        self.assertAlmostEqual(self.cores("cpu  130 10 80 19000 10 10 15 70 0 0").stolen_since(before), 30 / 120)
        self.assertEqual(before.stolen_since(before), 0.0)

    def test_what_was_taken_is_the_step_s_that_was_going_on(self) -> None:
        ticks = iter([host.Cores(used, stolen, 0)
                      for used, stolen in ((0, 0), (0, 90), (100, 90), (160, 130), (200, 130))])
        shown = []
        with mock.patch.object(host.Cores, "now", lambda: next(ticks)):
            stolen = measure._Stolen(["ours", "raw"], shown.append)
            for step in ("ours-0", "raw-0", "ours-1"):  # time taken before the first step counts for no side
                stolen.begin(step)
            stolen.end()
        self.assertEqual((shown, stolen.by_side), (["ours-0", "raw-0", "ours-1"], {"ours": [0.0, 0.0], "raw": [0.4]}))

    def test_the_calmest_runs_count_in_their_order(self) -> None:
        self.assertEqual(measure.calmest([0.2, 0.0, 0.5, 0.1, 0.05], 3), [1, 3, 4])
        self.assertEqual(measure.calmest([0.0, 0.0, 0.0], 2), [0, 1])

    def test_disturbed_runs_are_repeated_within_bounds(self) -> None:
        for disturbed, total in ((set(), 2), ({0}, 3), ({0, 1, 2}, 5), (set(range(9)), 6)):
            def lab(options: list[str], plan: Path, show: object) -> tuple[int, str]:
                self.assertEqual((plan.parent / "key").stat().st_mode & 0o777, 0o600)
                for step in json.loads(plan.read_text())["steps"]:
                    side, _, number = step["name"].rpartition("-")
                    self.assertEqual(int(number), len(stolen.by_side[side]))
                    stolen.by_side[side].append(0.5 if side == "raw" and int(number) in disturbed else 0.0)
                return 0, ""

            case = acceptance.choose(acceptance.load(), ["A1/2x2/host"])[0]
            stolen = measure._Stolen(case.sides, lambda step: None)
            with tempfile.TemporaryDirectory() as folder, mock.patch.object(measure, "in_lab", lab), \
                    mock.patch.object(host, "wait_until_calm", lambda patience: None):
                self.assertEqual(measure._in_labs(case, Path("bin"), 2, Path(folder), stolen), (0, ""))
            self.assertEqual({side: len(shares) for side, shares in stolen.by_side.items()}, {"ours": 2, "raw": total})


class Results(unittest.TestCase):
    def outcome(self, name: str, verdict: str) -> measure.Outcome:
        return measure.Outcome(acceptance.choose(acceptance.load(), [name])[0], verdict)

    def test_cases_of_one_commit_are_kept_together(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            where = {"commit": "1", "dirty": False}
            results.write(Path(folder), "A4", [(self.outcome("A4/veth", "FAIL"), 5)], where)
            path = results.write(Path(folder), "A4", [(self.outcome("A4/loopback", "PASS"), 5)], where)
            self.assertEqual((json.loads(path.read_text())["verdict"], len(json.loads(path.read_text())["cases"])),
                             ("FAIL", 2))
            results.write(Path(folder), "A4", [(self.outcome("A4/loopback", "SKIP"), 5)],
                          {"commit": "2", "dirty": False})
            self.assertEqual((json.loads(path.read_text())["verdict"], len(json.loads(path.read_text())["cases"])),
                             ("SKIP", 1))


if __name__ == "__main__":
    support.main(needs_root=False)
