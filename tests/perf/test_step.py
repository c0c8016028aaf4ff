"""How step_perf evaluates a recorded step, and pairs of measurements. Pure."""
from __future__ import annotations

import argparse
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "perf"))

from bench.steps.at_least import at_least  # noqa: E402
from bench.steps.paired import paired_ratio, strays  # noqa: E402
from bench.steps.pieces import Call, Recorded, as_overlapped, bytes_each_way, trace_of  # noqa: E402


def _step(slower: float = 1.0) -> Recorded:
    """A root and two layers: forward 1, 2, 3 s; backward 6, 4, 2 s; optimizer 0.5 s."""
    gathers = [("all_gather_single", 10, 0.1), ("all_gather_single", 20, 1), ("all_gather_single", 30, 3),
               ("all_gather_single", 20, 8)]  # the last one is in backward
    reduces = [("reduce_scatter_single", 30, 12), ("reduce_scatter_single", 20, 16), ("reduce_scatter_single", 10, 18)]
    calls = sorted((Call(name, size, at * slower) for name, size, at in gathers + reduces), key=lambda call: call.at_s)
    return Recorded(calls, 6 * slower, 18.5 * slower)


def _kept(trace: dict[str, Any]) -> list[bool]:
    return [layer["kept"] for layer in trace["layers"]]


class StepTest(unittest.TestCase):
    def test_numbers_below_their_least_are_named(self) -> None:
        self.assertEqual((1, 0.5), (at_least(1)("1"), at_least(0, float)("0.5")))
        for read, text in ((at_least(1), "0"), (at_least(0.01, float), "nan"), (at_least(0.01, float), "inf")):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, f"found {text}, expected (1|0.01) or more"):
                read(text)

    def test_pieces_between_the_calls(self) -> None:
        trace = trace_of([_step(), _step(), _step(3)])
        found = [(layer["gather_bytes"], layer["reduce_bytes"], layer["forward_s"], layer["backward_s"])
                 for layer in trace["layers"]]
        self.assertEqual([(10, 10, 1, 2), (20, 20, 2, 4), (30, 30, 3, 6)], found)
        self.assertEqual(0.5, trace["optimizer_s"])
        self.assertEqual(18.5, sum(each[2] + each[3] for each in found) + trace["optimizer_s"], "nothing is lost")

    def test_units_that_backward_does_not_gather_are_kept(self) -> None:
        self.assertEqual([True, False, True], _kept(trace_of([_step()])), "the root and the last layer")
        step = _step()
        step.calls = [call for call in step.calls if call.at_s != 8]
        self.assertEqual([True, True, True], _kept(trace_of([step])))

    def test_of_units_of_one_size_the_earlier_are_kept(self) -> None:
        # Backward begins with the last unit.
        gathers = [Call("all_gather_single", 20, at) for at in (0, 1, 2, 7)]
        reduces = [Call("reduce_scatter_single", 20, at) for at in (8, 9, 10)]
        self.assertEqual([True, True, False], _kept(trace_of([Recorded(gathers + reduces, 6, 11)])))

    def test_as_overlapped__changes_only_which_units_are_kept(self) -> None:
        layers = [{"name": f"unit{i}", "forward_s": i, "kept": i == 0} for i in range(5)]
        found = as_overlapped({"optimizer_s": 0.5, "layers": layers})
        self.assertEqual([True, False, False, True, True], _kept(found))
        self.assertEqual({"optimizer_s": 0.5, "layers": [{**layer, "kept": True} for layer in layers]},
                         {**found, "layers": [{**layer, "kept": True} for layer in found["layers"]]})
        self.assertEqual([True, False, False, False, False], _kept({"layers": layers}), "what was given is as it was")

    def test_a_gather_in_backward_that_is_nobody_s(self) -> None:
        step = _step()
        step.calls.append(Call("all_gather_single", 99, 9))
        with self.assertRaisesRegex(ValueError, "2 all-gathers in backward, of which 1 are nobody's of forward"):
            trace_of([step])

    def test_units_that_are_not_reduced_as_they_are_gathered(self) -> None:
        step = _step()
        step.calls.pop()
        with self.assertRaisesRegex(ValueError, "3 units gathered in forward, 2 reduced"):
            trace_of([step])

    def test_bytes_each_way(self) -> None:
        self.assertEqual((10 + 20 + 30 + 20 + 30 + 20 + 10) / 2, bytes_each_way(_step().calls, 2))

    def test_ratios_of_pairs(self) -> None:
        found = paired_ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
        self.assertEqual(2.0, found["median"])
        self.assertLess(found["low"], 2.0)
        self.assertGreater(found["high"], 2.0)
        same = paired_ratio([2.0, 4.0], [1.0, 2.0])
        self.assertAlmostEqual(2.0, same["low"])
        self.assertAlmostEqual(2.0, same["high"])
        self.assertEqual({"median": 3.0, "low": None, "high": None}, paired_ratio([3.0], [1.0]))
        self.assertEqual({"median": 1.0, "low": None, "high": None}, paired_ratio([-1.0, 1.0, 2.0], [1.0] * 3))

    def test_the_interval_of_many_pairs_is_the_medians(self) -> None:
        # By tables of the sign test: the fourth of 15 values from either end, the sixth of 20.
        for count, rank in ((6, 1), (15, 4), (20, 6)):
            found = paired_ratio([float(number) for number in range(count, 0, -1)], [1.0] * count)
            self.assertEqual((rank, count + 1 - rank), (found["low"], found["high"]))
        self.assertEqual({"down": 1.0, "up": 1.0}, strays([0.9, 1.0, 1.2]))
        self.assertEqual({"down": 0.5**9, "up": 1.0}, strays([1.0] * 20 + [0.5] * 9))
        self.assertEqual({"down": 0.875, "up": 0.5}, strays([0.8, 1.25, 3.0]))
        wild = paired_ratio([1.0] * 18 + [0.1, 30.0], [1.0] * 20)
        self.assertEqual((1.0, 1.0), (wild["low"], wild["high"]))

    def test_a_pair_without_a_ratio_counts_as_beyond_either_end(self) -> None:
        upper, lower = [float(number) for number in range(1, 21)], [1.0] * 20
        found = paired_ratio([*upper, 1.0], [*lower, -0.2])
        # The sixth of 21 from either end. The pair without a ratio counts at both ends.
        self.assertEqual((5.0, 16.0), (found["low"], found["high"]))
        self.assertEqual(10.5, found["median"])
        self.assertEqual({"down": 0.5, "up": 0.5}, strays([0.8, 1.25], 1))
        with self.assertRaisesRegex(ValueError, "above 0, found -0.2"):
            paired_ratio([1.0] * 5, [1.0] * 4 + [-0.2])
        with self.assertRaisesRegex(ValueError, "above 0, found -0.2"):
            paired_ratio([1.0] * 12, [1.0] * 6 + [-0.2] * 6)


if __name__ == "__main__":
    unittest.main()
