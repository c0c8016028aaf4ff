"""The table of real hosts (perf/real_hosts.json), and how its programs judge what they measure. Pure; runs anywhere."""
from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import unittest

import support
from bench import rows as table_rows
from bench.faults import disturbances, losses
from bench.hosts import bad_rails, ended, false_alarm_perf, make_table, rows, share_perf
from bench.hosts.pairwise import cover, pairs_of
from bench.hosts.shapes import Setting, kSettings, kShapes, rails_that_carry, warning


class Pairwise(unittest.TestCase):
    kRows = [(a, b, c) for a in "xy" for b in "xyz" for c in "xy"]

    def pairs(self, row: tuple[str, ...]) -> list:
        return pairs_of(list(zip("abc", row)))

    def test_every_pair_is_in_few_rows(self) -> None:
        chosen = cover(self.kRows, self.pairs)
        covered = {pair for row in chosen for pair in self.pairs(row)}
        self.assertEqual(covered, {pair for row in self.kRows for pair in self.pairs(row)})
        self.assertLess(len(chosen), 8)  # of twelve rows; no choice has fewer than six

    def test_what_is_given_comes_first_and_its_pairs_are_covered(self) -> None:
        chosen = cover(self.kRows, self.pairs, [self.kRows[5]])
        self.assertEqual((chosen[0], chosen.count(self.kRows[5])), (self.kRows[5], 1))
        self.assertEqual(cover(self.kRows, self.pairs, self.kRows), self.kRows)


class Table(unittest.TestCase):
    def test_file_is_what_the_script_makes(self) -> None:
        self.assertEqual(table_rows.kTable.read_text(), make_table.text(),
                         "perf/bench/hosts/make_table.py > perf/real_hosts.json")

    def test_every_pair_occurs(self) -> None:
        chosen = rows.chosen()
        for names, values, found in (
                ("shape and setting", {(shape, kind, value) for shape in kShapes for kind, value in self.settings()},
                 {(cell.shape, kind, value) for cell in chosen for kind, value in self.of(cell.setting)}),
                ("fault and setting",
                 {(fault, kind, value) for fault in losses.kLosses for kind, value in self.settings()},
                 {(cell.fault, kind, value) for cell in chosen for kind, value in self.of(cell.setting)}),
                ("shape and family",
                 {(shape, family) for shape, kind in kShapes.items() for family, faults in rows.kFamilies.items()
                  if any(rows.can_happen(kind, fault) for fault in faults)},
                 {(cell.shape, family) for cell in chosen
                  for family, faults in rows.kFamilies.items() if cell.fault in faults})):
            self.assertEqual(values, found, names)

    def settings(self) -> set[tuple[str, object]]:
        return {pair for setting in kSettings for pair in self.of(setting)}

    def of(self, setting: Setting) -> list[tuple[str, object]]:
        return list(vars(setting).items())

    def test_it_is_short_and_has_no_fault_that_cannot_happen(self) -> None:
        chosen = rows.chosen()
        self.assertLessEqual(len(chosen), 66)
        self.assertTrue(all(rows.can_happen(kShapes[cell.shape], cell.fault) for cell in chosen))
        self.assertEqual(sorted(losses.kLosses),
                         sorted(fault for faults in rows.kFamilies.values() for fault in faults))

    def test_names_are_unique(self) -> None:
        for name, found in make_table.table().items():
            self.assertEqual(len({row["name"] for row in found}), len(found), name)

    def test_only_one_nic_by_arp_is_an_excuse(self) -> None:
        excused = [cell for cell in rows.chosen() if rows.row(cell, 0)["excuse"]]
        self.assertTrue(excused)
        self.assertTrue(all(cell.setting.arp == "default" and not cell.setting.ipv6 and kShapes[cell.shape].one_segment
                            for cell in excused))


    def test_a_row_waits_for_ipv6_or_a_warning_where_one_is_due(self) -> None:
        found = {row["name"]: (row["settle_s"], row["seconds"], row["rounds"])
                 for row in make_table.table()["no_fault"]}
        self.assertEqual(found["cables/arp-default/rp1/ipv6"], (0.5, 1.2, 3))
        self.assertEqual(found["one-subnet/arp-default/rp0/ipv6"], (7.0, 3.0, 1))
        self.assertEqual(found["one-subnet/arp-default/rp0/no-ipv6"], (0.5, 11.0, 1))


class Expected(unittest.TestCase):
    """The rails that carry, and the warning, for settings of Linux, as real hosts showed them."""

    def check(self, rails: int, said: str, shape: str, arp: str, rp_filter: int, ipv6: bool) -> None:
        setting = Setting(arp, rp_filter, ipv6)
        self.assertEqual((rails, said), (rails_that_carry(kShapes[shape], setting), warning(kShapes[shape], setting)),
                         (shape, setting))

    def test_one_segment_with_arp_as_shipped(self) -> None:
        for shape in ("one-subnet", "subnet-per-rail", "pods"):
            self.check(2, "", shape, "default", 0, True)
            self.check(1, "arp_ignore", shape, "default", 0, False)
            self.check(1, "arp_ignore", shape, "default", 2, False)
            self.check(2, "", shape, "strict", 0, False)

    def test_strict_rp_filter_with_one_and_with_several_subnets(self) -> None:
        self.check(2, "", "subnet-per-rail", "default", 1, False)
        self.check(1, "arp_ignore|rp_filter", "one-subnet", "default", 1, False)
        self.check(1, "rp_filter", "one-subnet", "strict", 1, False)
        self.check(2, "", "one-subnet", "strict", 1, True)

    def test_routes(self) -> None:
        self.check(2, "", "routed-metric", "default", 0, True)
        self.check(1, "rp_filter", "routed-metric", "default", 1, True)
        self.check(2, "", "routed-policy", "default", 1, False)
        self.check(1, "", "routed-one", "strict", 2, False)

    def test_unequal_hosts(self) -> None:
        self.check(1, "", "2-to-1", "default", 0, False)
        self.check(2, "", "4-to-2", "default", 1, False)
        self.check(2, "", "nowhere", "default", 0, False)


class Shares(unittest.TestCase):
    def summary(self, ours: list[float], warned: list[str], rails: int = 1, said: str = "arp_ignore") -> dict:
        rounds = [{"raw_gbps": 1.0 * rails, "ours_gbps": x, "failed": False, "warned": warned} for x in ours]
        return share_perf._summary(rounds, argparse.Namespace(warning=said, rails=rails))

    def test_a_warning_may_only_be_missing_where_both_rails_carry(self) -> None:
        self.assertEqual(1, self.summary([0.98] * 3, ["WARN something else"])["unsaid"])
        self.assertEqual(0, self.summary([0.98] * 3, ["WARN set arp_ignore"])["unsaid"])
        self.assertEqual(0, self.summary([1.9] * 3, [])["unsaid"])
        self.assertEqual(0, self.summary([0.5] * 3, [], said="")["unsaid"])

    def test_the_middle_round_counts(self) -> None:
        self.assertAlmostEqual(0.97, self.summary([1.0, 0.2, 0.97], [], said="")["share"])


class Alarms(unittest.TestCase):
    kFrom = "WARN NET/Railweave : "
    kLost = "rail {} to {}: {}; {} of {} lanes left"  # logged after a moment without another lane of the rail
    kSpoilt = "lane {} to {} on rail {} given up: {}"  # for wrong bytes: logged at once
    kSaid = f"""{kFrom}rail eth1 to host1 pid 1: no answer to what was sent; 1 of 2 lanes left
{kFrom}rail eth1 to host1 pid 1: carries again; 2 lanes
{kFrom}lane 7 to host1 pid 1 on rail eth1 given up: damaged payload
INFO NET/Railweave : rail eth1 to host1 pid 1: 1 of 2 lanes left
"""

    def warnings_of_the_plugin(self) -> dict[str, set[str]]:
        """Returns the texts that the plugin may log at WARN, by source file. RailLog composes a line of two texts."""
        sources = {file: file.read_text() for file in (support.kPerf.parent / "plugin").rglob("*.cc")}
        said = {file.name: {"".join(re.findall(r'"([^"]*)"', text))
                            for text in re.findall(r'RW_WARN\(\w+,\s*("[^"]*"(?:\s*"[^"]*")*)', source)}
                for file, source in sources.items() if "RW_WARN(" in source}
        ends = re.findall(r'fmt::format\("([^"]*)"',
                          next(source for file, source in sources.items() if file.name == "rail_log.cc"))
        said["rail_log.cc"] = {start.removesuffix("{}") + end for start in said["rail_log.cc"] for end in ends}
        return said

    def test_lanes_given_up_are_told_in_these_words_and_in_no_others(self) -> None:
        """Compares with the plugin's own texts. If one changed, false_alarm_perf would count nothing and find no
        fault."""
        said = self.warnings_of_the_plugin()
        self.assertIn(self.kLost, said["rail_log.cc"])
        self.assertIn(self.kSpoilt, said["session_lanes_end.cc"])
        every = set().union(*said.values())
        self.assertGreater(len(every), 20)
        counted = {text for text in every if false_alarm_perf._given_up(self.kFrom + text.replace("{}", "7"))}
        self.assertEqual({self.kLost, self.kSpoilt}, counted)

    def test_lanes_given_up_and_frames_said_twice(self) -> None:
        given_up = false_alarm_perf._given_up(self.kSaid)
        self.assertEqual([self.kSaid.splitlines()[0], self.kSaid.splitlines()[2]], given_up)
        engine = {"control_frames": 500, "control_frames_said_again": 2}
        document = {"results": [{"verify": {"errors": 0}, "ranks": [{"engine": engine}, {"engine": engine}]}]}
        found = false_alarm_perf._summary(document, [given_up, []])
        self.assertEqual((2, 0.004, 0), (found["lanes_lost"], found["said_again_share"], found["errors"]))
        self.assertEqual(1, false_alarm_perf._summary(None, [[], []])["errors"])

    def test_warnings_before_the_tail_are_told(self) -> None:
        said = "WARN first\n" + "x\n" * ended.kTailChars + "last"
        self.assertTrue(ended.tail(said).startswith("WARN first") and ended.tail(said).endswith("last"))
        self.assertEqual("short", ended.tail("short"))


class OutsideALab(unittest.TestCase):
    def test_programs_say_what_to_run_them_by(self) -> None:
        outside = {name: value for name, value in os.environ.items()
                   if not name.startswith(("RWLAB", "MASTER_", "RANK", "WORLD_SIZE"))}
        for program, options in (("bench/faults/rail_loss_perf", ["--kind", "reset"]),
                                 ("bench/faults/peer_loss_perf", ["--kind", "kill"]), ("bench/incast/incast_perf", []),
                                 ("bench/incast/sharing_perf", []), ("bench/hosts/share_perf", ["--rails", "1"]),
                                 ("bench/hosts/false_alarm_perf", []), ("bench/hosts/connect_loss_perf", [])):
            done = subprocess.run([sys.executable, "-B", support.kPerf / f"{program}.py", *options],
                                  env={**outside, "RANK": "0"}, capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(2, done.returncode, program)
            self.assertRegex(done.stderr, "error: WORLD_SIZE, .*RWLAB_ADDRESSES not set: run it by tools/lab run",
                             program)


class Disturbances(unittest.TestCase):
    def test_they_are_the_seed_s_and_leave_the_only_switch_alone(self) -> None:
        made = [[disturbances.drawn(chance) for _ in range(400)]
                for chance in (random.Random(1), random.Random(1), random.Random(2))]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])
        self.assertEqual({one.kind for one in made[0]}, set(disturbances.kKinds))
        self.assertFalse({"switch", "mtu-hole"} & set(disturbances.kKinds))
        self.assertTrue(all(one.host == losses.kLosses[one.kind].at
                            for one in made[0] if one.kind in ("down-sender", "down-receiver")))

    def test_bad_rails_are_eight(self) -> None:
        self.assertEqual(8, len(bad_rails.rows()))


if __name__ == "__main__":
    support.main(needs_root=False)
