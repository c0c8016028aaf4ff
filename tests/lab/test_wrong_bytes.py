"""A rail that alters bytes, with RAILWEAVE_CHECKSUM: every received byte is right, no request fails, and the rail
carries almost nothing."""
from __future__ import annotations

import tempfile
from pathlib import Path

import engine_lab
from engine_lab import EngineTest, Outcome, net_perf

_CABLE = Path(__file__).resolve().with_name("bad_cable.py")
# The bad cable alters IPv4 only. A rail that has IPv6, too, would continue over IPv6.
_TWO = ["--nics", "2", "--rate", "200mbit", "--shape", "switch", "--disable-ipv6"]


def through_bad_cable(*options: str, per_mille: float, checksum: str, rails: str = "eth0,eth1",
                      deadline_s: float = 60) -> Outcome:
    """Runs net_perf with a bad cable at eth1. The ranks meet over eth0."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "cable"
        setup = f"""
            export RAILWEAVE_CHECKSUM={checksum} RAILWEAVE_RAILS={rails}
            if [ $RANK = 0 ]; then
              python3 -B {_CABLE} 1 {per_mille} > {said} & cable=$!
              until grep -q ready {said}; do kill -0 $cable || exit 9; sleep 0.02; done
            fi"""
        beside = f"""
            [ $RANK != 0 ] || (while kill -0 $pid 2> /dev/null; do sleep 0.1; done
                               kill $cable; sleep 0.2; cat {said}) &"""
        return net_perf(_TWO, *options, setup=setup, beside=beside, deadline_s=deadline_s)


class BadRail(EngineTest):
    def damaged(self, outcome: Outcome) -> dict[str, int]:
        found: dict[str, int] = {}
        for rank in outcome.result["ranks"]:
            for lane in rank["engine"]["lanes"]:
                found[lane["rail"]] = found.get(lane["rail"], 0) + lane["damaged_frames"]
        return found

    def check(self, outcome: Outcome) -> dict[str, int]:
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        found = self.damaged(outcome)
        warned = [line for rank in (0, 1) for line in outcome.warnings(rank)]
        self.assertEqual(sum(found.values()), len([line for line in warned if "on rail eth1 given up: " in line]),
                         str(outcome))
        print(f"{found}, {outcome.result['seconds']:.1f} s", end=" ... ", flush=True)
        return found

    def test_one_of_two(self) -> None:
        """The bad rail is lost again and again, and backs off for longer each time. The other rail carries nearly
        everything."""
        outcome = through_bad_cable("--bytes", "200M", per_mille=10, checksum="on")
        found = self.check(outcome)
        self.assertGreater(found.get("eth1", 0), 0, str(outcome))
        self.assertEqual(0, found.get("eth0", 0), str(outcome))
        came = {rail: into for rail, (_, into) in outcome.carried(1).items()}
        print(f"{came['eth1'] / came['eth0']:.1%} by eth1", end=" ... ", flush=True)
        self.assertLess(came["eth1"], came["eth0"] / 30, str(outcome))

    def test_both_ways(self) -> None:
        self.check(through_bad_cable("--bytes", "100M", "--both", per_mille=2, checksum="on"))

    def test_the_only_one(self) -> None:
        outcome = through_bad_cable("--bytes", "40M", per_mille=0.3, checksum="on", rails="eth1")
        self.assertGreater(self.check(outcome)["eth1"], 0, str(outcome))

    def test_without_the_setting_they_arrive(self) -> None:
        """The other tests rely on this: the cable alters bytes."""
        outcome = through_bad_cable("--bytes", "100M", per_mille=2, checksum="off")
        self.assertGreater(outcome.document["results"][0]["verify"]["errors"] if outcome.document else 1, 0,
                           str(outcome))
        self.assertNotEqual(0, outcome.status, str(outcome))


if __name__ == "__main__":
    engine_lab.main()
