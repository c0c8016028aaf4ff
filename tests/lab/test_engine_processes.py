"""Sessions between all kinds of processes: equal pids, one process, other keys or none, a name mapped to loopback,
crossing dials, many comms, a forked child, and the traffic class of packets."""
from __future__ import annotations

import re
import unittest

import engine_lab
from engine_lab import EngineTest, in_lab, kBin, net_perf

_TWO = ["--nics", "2"]
_ALIGNED = [("eth0", "eth0"), ("eth1", "eth1")]


class Identity(EngineTest):
    def test_equal_pids_on_two_hosts(self) -> None:
        outcome = self.assert_works(net_perf([*_TWO, "--pid-namespaces"], "--both"))
        self.assertEqual(outcome.values(0, "pid"), outcome.values(1, "pid"))
        self.assert_pairs(_ALIGNED, outcome)

    def test_equal_pids_on_one_host(self) -> None:
        outcome = net_perf(["--hosts", "1", *_TWO, "--ranks-per-host", "2", "--pid-namespaces"], "--both")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        pids = re.findall(r"^\[host0\.\d\] pid (\d+)$", outcome.stdout, re.MULTILINE)
        self.assertEqual(2, len(pids), str(outcome))
        self.assertEqual(pids[0], pids[1])

    def test_both_ends_in_one_process(self) -> None:
        outcome = in_lab(["--hosts", "1", *_TWO], [str(kBin / "nccl_tests"), "--gtest_filter=*v12_one_process_*"])
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertRegex(outcome.stdout, r"PASSED  \] [1-9]\d* tests")

    def test_who_has_another_key_is_refused_aloud__and_nobody_waits(self) -> None:
        keys = ('key=/tmp/$RWLAB-$RANK.key; trap "rm -f $key" EXIT; umask 077; '
                'echo "sixteen bytes of rank $RANK" > $key; export RAILWEAVE_KEY_FILE=$key')
        outcome = net_perf(_TWO, setup=keys)
        self.assertEqual(1, outcome.status, str(outcome))
        self.assertLess(outcome.seconds, 20, str(outcome))  # a rank would wait 30 s for a comm
        for host in (0, 1):
            self.assertIn("the peer has another key than ours (RAILWEAVE_KEY_FILE)", "".join(outcome.warnings(host)),
                          str(outcome))
        self.assertIn("the other rank has gone", "".join(outcome.said(1)), str(outcome))

    def test_who_has_no_key_says_once_that_anyone_may_connect(self) -> None:
        key = """(umask 077; echo "a key that both ranks have" > /tmp/$RWLAB-$RANK.key)
                 trap "rm -f /tmp/$RWLAB-$RANK.key" EXIT; export RAILWEAVE_KEY_FILE=/tmp/$RWLAB-$RANK.key"""
        for times, setup in ((1, ""), (0, key)):
            with self.subTest(times=times):
                outcome = self.assert_works(net_perf(_TWO, "--both", setup=f"export NCCL_DEBUG=INFO; {setup}"))
                for host in (0, 1):
                    said = [line for line in outcome.said(host) if "anyone on the network may connect" in line]
                    self.assertEqual(times, len(said), str(outcome))


# Runs net_perf with an /etc/hosts of one line, which names the host where the ranks meet.
_MEET_BY_NAME = """
file=$(mktemp); {line} > $file; mount --bind $file /etc/hosts; rm -f $file
MASTER_ADDR=head exec {program} "$@"
"""


def meeting_by_name(line: str) -> list[str]:
    script = _MEET_BY_NAME.format(line=line, program=kBin / "net_perf")
    return ["unshare", "-m", "sh", "-c", script, "sh"]


class Meeting(EngineTest):
    """A host maps its own name to 127.0.1.1, as Debian's installer configures it."""

    def test_the_first_rank_maps_its_own_name_to_loopback(self) -> None:
        hosts = meeting_by_name('echo "$([ $RANK = 0 ] && echo 127.0.1.1 || echo $MASTER_ADDR) head"')
        self.assert_works(net_perf(_TWO, through=hosts))

    def test_the_other_rank_reports_a_name_mapped_to_loopback(self) -> None:
        outcome = net_perf(_TWO, "--patience", "2", through=meeting_by_name('echo "127.0.1.1 head"'))
        self.assertEqual(1, outcome.status, str(outcome))
        for word in ("'head' is 127.0.1.1", "/etc/hosts"):
            self.assertIn(word, "".join(outcome.said(1)), str(outcome))


class Sharing(EngineTest):
    def test_both_dial_at_once_and_share_one_session(self) -> None:
        # The first dial to arrive is chance, so the program runs several times.
        program = f'for i in 1 2 3 4 5; do {kBin / "net_perf"} "$@" || exit 1; done'
        with_loop = net_perf(_TWO, "--both", "--comms", "4", "--bytes", "1M", through=["sh", "-c", program, "sh"])
        self.assert_works(with_loop)
        self.assertEqual(_ALIGNED, with_loop.pairs(), str(with_loop))
        self.assertEqual(5, with_loop.stdout.count("rank 0 eth0"), str(with_loop))

    def test_sixty_four_comms_use_the_sockets_of_one(self) -> None:
        sockets = []
        for comms in ("1", "64"):
            # Long enough for the other dials of the beginning to end.
            outcome = self.assert_works(net_perf(_TWO, "--comms", comms, "--size", "64K", "--duration", "1"))
            self.assertEqual(_ALIGNED, outcome.pairs(), str(outcome))
            sockets.append([rank["sockets"] for rank in outcome.result["ranks"]])
        for one, many in zip(*sockets):
            self.assertLessEqual(many, one, sockets)

    def test_a_sleeping_child_holds_no_connection(self) -> None:
        """Rank 0 forks a child that outlives it, and is then killed. If the child held rank 0's sockets, rank 1 would
        never notice the loss."""
        outcome = net_perf(_TWO, "--bytes", "64G", "--at", "0:sleep 300 & echo forked",
                           beside="[ $RANK = 1 ] || (moved eth0 300000; sleep 1; kill -9 $pid) &")
        self.assertEqual(128 + 9, outcome.status, str(outcome))
        self.assertIn("forked", "".join(outcome.said(0)), str(outcome))
        self.assertEqual(1, len(outcome.warnings(1)), str(outcome))
        self.assertLess(outcome.seconds, 20, str(outcome))


class TrafficClass(EngineTest):
    def check(self, *lab: str) -> None:
        """Asserts that the sockets of all lanes have the class at both ends, and no other socket has it: the ranks'
        rendezvous has none."""
        look = "ss --tcp --numeric --no-header --tos --options state established"
        outcome = net_perf([*_TWO, *lab], "--duration", "1.5",
                           "--at", f"0.2:{look}; $RWLAB_PROGRAM exec --host 1 -- {look}",
                           setup="export RAILWEAVE_TRAFFIC_CLASS=32")
        self.assert_works(outcome)
        seen = "\n".join(outcome.said(0))
        marked = re.findall(r"(\S+:\d+)\s+(\S+:\d+)\s[^\n]*(?:tos|tclass):0x20\b", seen)
        lanes = {(lane.local, lane.remote) for rank in (0, 1) for lane in outcome.lanes(rank)}
        self.assertEqual(lanes, {(re.sub("%[a-z0-9]+", "", local), remote) for local, remote in marked}, str(outcome))

    def test_it_is_on_every_lane(self) -> None:
        self.check()

    def test_it_is_on_every_lane_over_ipv6(self) -> None:
        self.check("--ipv6")


if __name__ == "__main__":
    engine_lab.main()
