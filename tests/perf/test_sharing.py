"""How sharing_perf evaluates the receivers' records (bins and their active senders, spans, goodput, busy cores), its
picture, and the processes that incast_perf starts."""
from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "perf"))

from bench.host import Cores  # noqa: E402
from bench.incast import command_line, core_time, course, incast_perf, pairs, sharing  # noqa: E402
from bench.incast.fairness import Arrivals  # noqa: E402
from bench.incast.sharing import Turn, Visit  # noqa: E402


def _visit(joined_s: float, left_s: float, each_second: int = 100) -> Visit:
    return Visit(Arrivals([joined_s, left_s], [0, round(each_second * (left_s - joined_s))]), joined_s, left_s)


class Bins(unittest.TestCase):
    def found(self, *visits: Visit) -> list[tuple[float, list[float]]]:
        return [(one.begin_s, one.shares) for one in sharing.bins(list(visits))]

    def test_the_first_full_bin_after_a_join_counts(self) -> None:
        # The late sender joins at 1.5. The bin from 1 on leaves it out. The bin from 1.5 on has it, with the bytes that
        # came right after the join.
        late = Visit(Arrivals([1.5, 2.0, 4.0], [0, 300, 400]), 1.5, 4.0)
        found = self.found(_visit(0, 4), _visit(0, 4), late)
        self.assertEqual([(0, [100, 100]), (1, [100, 100]), (1.5, [100, 100, 325]), (2.5, [100, 100, 50])], found)

    def test_who_leaves_in_the_middle_of_a_bin_is_not_in_it(self) -> None:
        found = self.found(_visit(0, 3), _visit(0, 3), _visit(0, 1.5))
        self.assertEqual([(0, [100, 100, 100]), (1, [100, 100]), (1.5, [100, 100])], found,
                         "the bin from 2.5 on would end after all")

    def test_a_bin_that_ends_with_a_visit_has_it(self) -> None:
        self.assertEqual([(0, [100, 100]), (1, [100, 100])], self.found(_visit(0, 2), _visit(0, 2)))
        self.assertEqual([(0, [100, 100])], self.found(_visit(0, 1.75), _visit(0, 2)))

    def test_joins_close_to_one_another_each_begin_a_bin(self) -> None:
        found = self.found(_visit(0, 3), _visit(0.25, 3), _visit(0.5, 3))
        self.assertEqual([0.25, 0.5, 1.5], [begin for begin, _ in found], "alone from 0 on there is nothing to share")
        self.assertEqual([2, 3, 3], [len(shares) for _, shares in found])

    def test_an_index_of_each_bin(self) -> None:
        found = sharing.bins([_visit(0, 2, 300), _visit(1, 2, 300), _visit(1, 2, 0)])
        self.assertEqual([1.0], [one.begin_s for one in found])
        self.assertAlmostEqual(2 / 3, sharing.indices(found)[0])


class Together(unittest.TestCase):
    def test_spans_in_which_all_send(self) -> None:
        visits = [_visit(0, 10), _visit(1, 4), _visit(6, 9)]  # the third is the second, back again
        self.assertEqual([(1, 4), (6, 9)], sharing.together(visits, 2))
        self.assertEqual([], sharing.together(visits, 3))

    def test_a_join_beyond_those_does_not_part_a_span(self) -> None:
        self.assertEqual([(0, 4)], sharing.together([_visit(0, 4), _visit(0, 4), _visit(1, 2)], 2))

    def test_goodput_is_of_the_spans_but_for_their_ends(self) -> None:
        # 62.5e6 bytes each second are 0.5 Gb/s. The second sender has no bytes after 3.5, in the span's last half
        # second.
        visits = [_visit(0, 6, 62_500_000), Visit(Arrivals([1, 3.5, 4], [0, 156_250_000, 156_250_000]), 1, 4)]
        self.assertAlmostEqual(1.0, sharing.goodput_gbps(visits, sharing.together(visits, 2)))
        self.assertEqual(0.0, sharing.goodput_gbps(visits, []))
        self.assertEqual(0.0, sharing.goodput_gbps(visits, [(1, 1.5)]))


class Messages(unittest.TestCase):
    """Programs that count the bytes of a message only when it is complete."""

    def test_a_message_came_since_the_one_before(self) -> None:
        found = sharing.evenly(Arrivals([0, 1, 2, 3, 4], [0, 0, 0, 0, 80]), 80)
        self.assertEqual([0, 20, 40, 60, 80], found.total_bytes)

    def test_only_one_message_did(self) -> None:
        found = sharing.evenly(Arrivals([0, 1, 2, 3, 4, 5], [0, 10, 10, 10, 70, 70]), 30)
        self.assertEqual([0, 10, 20, 30, 70, 70], found.total_bytes,
                         "two more came in the last second, and nothing after that")

    def test_where_bytes_count_as_they_come_nothing_changes(self) -> None:
        given = Arrivals([0, 1, 2], [0, 0, 80])
        self.assertEqual(given, sharing.evenly(given, 0))

    def test_a_visit_is_the_time_of_both_ends(self) -> None:
        receiver = {"t0_monotonic_ns": 5_000_000_000, "seconds": 2.0,
                    "series": {"t_s": [1.0, 2.0], "received_bytes": [0, 8]}}
        result = {"size": 8, "ranks": [{"t0_monotonic_ns": 5_250_000_000, "seconds": 1.5}, receiver]}
        self.assertEqual(Visit(Arrivals([5.0, 6.0, 7.0], [0, 0, 8]), 5.25, 6.75),
                         sharing.visit(result, counts_whole=False))
        self.assertEqual([0, 4, 8], sharing.visit(result, counts_whole=True).arrivals.total_bytes)


class Course(unittest.TestCase):
    """The rates of two senders over time. The second one leaves and comes back."""

    def document(self) -> dict:
        visits = [{"sender": 0, "joined_s": 0.0, "left_s": 0.8, "bin_s": 0.1,
                   "mbps": [800, 600, 400, 400, 800, 800, 400, 400]},
                  {"sender": 1, "joined_s": 0.2, "left_s": 0.4, "bin_s": 0.1, "mbps": [300, 500]},
                  {"sender": 1, "joined_s": 0.6, "left_s": 0.8, "bin_s": 0.1, "mbps": [400, 400]}]
        return {"summary": {"senders": 2, "goodput_gbps": 0.8, "jain_median": 0.99, "jain_least": 0.9},
                "series": {"visits": visits}}

    def test_rates_are_of_tenths_of_a_second(self) -> None:
        # 12.5e6 bytes each second are 100 Mb/s.
        found = sharing.rates_mbps(_visit(2.0, 2.35, 12_500_000))
        self.assertEqual([100.0] * 3, [round(rate, 3) for rate in found], "the rest of 0.05 s is no bin")
        self.assertEqual(3, len(sharing.rates_mbps(_visit(0.1, 0.4))),
                         "of which the difference is a little less than three bins")

    def test_a_line_for_each_visit(self) -> None:
        found = course.lines(self.document())
        self.assertEqual([0, 1, 1], [line.sender for line in found])
        self.assertEqual([300, 500], found[1].mbps)
        self.assertEqual([0.25, 0.35], [round(at, 6) for at in found[1].at_s], "middles of bins")

    def test_the_even_share_is_of_those_that_send(self) -> None:
        found = course.even_share(self.document())
        self.assertEqual([0.0, 0.2, 0.4, 0.6, 0.8], found.edges_s)
        self.assertEqual([800, 400, 800, 400], found.mbps)

    def test_a_document_without_visits_is_refused(self) -> None:
        with self.assertRaises(KeyError):
            course.lines({"summary": {}, "series": {"megabytes": []}})

    @unittest.skipIf(importlib.util.find_spec("matplotlib") is None, "matplotlib draws")
    def test_the_picture_is_a_png(self) -> None:
        from bench.plots import sharing as picture

        with tempfile.TemporaryDirectory() as folder:
            file, png = Path(folder) / "sharing.json", Path(folder) / "new" / "sharing.png"
            file.write_text(json.dumps(self.document()))
            self.assertEqual(0, picture.main([str(file), str(file), str(png), "--before", "Raw TCP"]))
            self.assertTrue(png.read_bytes().startswith(b"\x89PNG"))


class Turns(unittest.TestCase):
    def test_joins_are_spread_and_all_end_together(self) -> None:
        made = sharing.turns(4, 2.0, 9.0, leave=False)
        self.assertEqual([Turn(n, -math.inf, 0.5 * n, 9.0) for n in range(4)], made)

    def test_every_fourth_is_away_in_the_middle(self) -> None:
        made = sharing.turns(8, 2.0, 9.0, leave=True)
        self.assertEqual([0, 1, 2, 3, 3, 4, 5, 6, 7, 7], [turn.sender for turn in made])
        first, second = made[3:5]
        self.assertEqual((first.joins_s, first.leaves_s, second.starts_s, second.joins_s, second.leaves_s),
                         (0.75, 3.875, 3.875, 5.875, 9.0))


class CommandLine(unittest.TestCase):
    def test_a_program_has_its_defaults_and_adds_options(self) -> None:
        parser = command_line.parser("some_perf", "about", senders=5, size="4K", settle_s=2.5)
        parser.add_argument("--more", action="store_true")
        found = parser.parse_args(["--senders", "7", "--more"])
        self.assertEqual(("net_perf", 7, "4K", 2.5, None, True),
                         (found.program, found.senders, found.size, found.settle, found.json, found.more))
        self.assertTrue(Path(found.programs).is_absolute())

    def test_the_senders_are_of_two_programs(self) -> None:
        parser = command_line.parser("some_perf", None, senders=5, size="4K", settle_s=2.5)
        self.assertEqual("raw_tcp", parser.parse_args(["--program", "raw_tcp"]).program)
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            parser.parse_args(["--program", "iperf3"])


class Processes(unittest.TestCase):
    """The processes of host 0, which has the receivers."""

    kLab = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "4000", "RWLAB": "x",
            "RWLAB_PROGRAM": "lab", "RWLAB_NICS": "1", "RWLAB_ADDRESSES": "10.0.0.1;10.0.0.2,10.1.0.2;10.0.0.3"}

    def pairs(self, count: int) -> list[pairs.Pair]:
        return [pairs.Pair(number, 1 + number % 2, "net_perf", ["--size", "4K"]) for number in range(count)]

    def started(self, together: list[pairs.Pair]) -> tuple[list[str], dict[str, str]]:
        with mock.patch.dict(os.environ, self.kLab), mock.patch("bench.incast.pairs.subprocess.Popen") as popen:
            pairs.start_receivers(together, "bin", Path("out"))
        return popen.call_args.args[0], popen.call_args.kwargs["env"]

    def test_receivers_are_spread_evenly_and_each_is_in_one(self) -> None:
        given = self.pairs(7)
        for processes in (1, 2, 3, 7):
            found = pairs.spread(given, processes)
            self.assertEqual((processes, given), (len(found), sum(found, [])))
            self.assertLessEqual(max(map(len, found)) - min(map(len, found)), 1)

    def test_one_of_several_receivers_meets_each_sender(self) -> None:
        argv, environment = self.started(self.pairs(3))
        self.assertEqual(["bin/net_perf", "--size", "4K", "--meet", "10.0.0.2:4001,10.0.0.3:4002,10.0.0.2:4003"], argv)
        self.assertEqual(("1", "2"), (environment["RANK"], environment["WORLD_SIZE"]))

    def test_one_of_one_receiver_meets_its_sender_by_the_environment(self) -> None:
        argv, environment = self.started(self.pairs(2)[1:])
        self.assertEqual(["bin/net_perf", "--size", "4K", "--json", "out/1.json"], argv)
        self.assertEqual(("1", "10.0.0.3", "4002"),
                         (environment["RANK"], environment["MASTER_ADDR"], environment["MASTER_PORT"]))

    def parsed(self, *options: str) -> int:
        argv = ["incast_perf", "--senders", "8", *options]
        with mock.patch.dict(os.environ, self.kLab), mock.patch.object(sys, "argv", argv):
            return incast_perf._parse().processes

    def test_there_is_one_for_each_sender_unless_asked_for_fewer(self) -> None:
        self.assertEqual([8, 8, 1, 8],
                         [self.parsed(), self.parsed("--program", "raw_tcp"), self.parsed("--processes", "1"),
                          self.parsed("--processes", "8", "--program", "raw_tcp")])
        for options, said in ((("--processes", "0"), "found 0, expected 1 to 8 of net_perf"),
                              (("--processes", "9"), "found 9, expected 1 to 8 of net_perf"),
                              (("--processes", "2", "--program", "raw_tcp"), "found 2, expected 8 to 8 of raw_tcp")):
            told = io.StringIO()
            with self.subTest(options), contextlib.redirect_stderr(told), self.assertRaises(SystemExit):
                self.parsed(*options)
            self.assertIn(f"--processes: {said}", told.getvalue())


class Busy(unittest.TestCase):
    def test_ticks_of_a_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            stat = Path(folder) / "stat"
            stat.write_text("cpu  100 1 50 900 10 2 5 40 77 7\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
            found = Cores.now(stat)
        self.assertEqual(Cores(158, 40, 910), found)
        self.assertEqual(1108, found.all)

    def test_what_the_host_took_counts_as_busy(self) -> None:
        self.assertAlmostEqual(0.75, core_time.busy([(0.0, Cores(0, 0, 0)), (1.0, Cores(50, 25, 25))], [(0.0, 1.0)]))

    def test_only_what_is_within_the_spans(self) -> None:
        # The idle ticks and all ticks until each second.
        ticks = ((0, 0), (100, 100), (140, 200), (140, 300), (240, 400))
        samples = [(float(second), Cores(together - idle, 0, idle)) for second, (idle, together) in enumerate(ticks)]
        self.assertAlmostEqual(0.8, core_time.busy(samples, [(1.0, 3.0)]))
        self.assertAlmostEqual(0.6, core_time.busy(samples, [(0.5, 2.5)]), msg="the samples at 1 and 2")
        self.assertAlmostEqual(0.3, core_time.busy(samples, [(0.0, 2.0)]))
        self.assertEqual(0.0, core_time.busy(samples, [(1.1, 1.9)]))


if __name__ == "__main__":
    unittest.main()
