"""Rails that carry a handshake and little else, addresses that change, firewalls, and the log lines about a rail
without a lane."""
from __future__ import annotations

import time

import engine_lab
from engine_lab import kBin, net_perf
from real_hosts import FAULT_S, ONE_SWITCH, ROUTED, SET, TWO, RealHosts

_TOLD_S = 9.5  # length of a transfer; with its warm-up, the ten seconds in which the log names a rail without a lane


class SmallPacketsOnly(RealHosts):
    """A rail that passes a handshake and little or no data."""

    def test_a_port_of_small_mtu(self) -> None:
        outcome = self.transfer([*TWO, "--mtu", "9000"], seconds=10, from_start="--host 1 --nic 1 --port-mtu 1500")
        self.assert_carries(1, outcome, from_s=3)
        self.assert_warned(outcome, (0,), "eth1", "MTU")

    def test_a_port_of_small_mtu_beside_three_good_ones(self) -> None:
        outcome = self.transfer([*TWO, "--nics", "4", "--mtu", "9000"], seconds=10,
                                from_start="--host 1 --nic 1 --port-mtu 1500")
        self.assert_carries(3, outcome, from_s=3)

    def test_a_rail_that_loses_much(self) -> None:
        self.assert_carries(1, self.transfer(TWO, seconds=10, from_start="--host 1 --nic 1 --lose 40"), from_s=3)

    def test_a_rail_that_begins_to_lose_much(self) -> None:
        self.assert_carries(1, self.transfer(TWO, "--host 1 --nic 1 --lose 40", seconds=10), from_s=FAULT_S + 3)


    def test_a_port_whose_mtu_becomes_small(self) -> None:
        outcome = self.transfer([*TWO, "--mtu", "9000"], "--host 1 --nic 1 --port-mtu 1500", seconds=14)
        self.assert_carries(1, outcome, from_s=FAULT_S + 3)
        self.assert_warned(outcome, (0,), "eth1", "MTU")


class TwoThings(RealHosts):
    """One rail is bad already when the other one is lost for a while."""

    def test_a_firewall_rejects_on_one_and_the_other_is_out(self) -> None:
        """A refusal on a rail that lost its lanes while the other rail carried proves nothing about the peer."""
        outcome = self.transfer(TWO, f"--host 1 --nic 0 --firewall reject; sleep 1; {SET} --host 1 --nic 1 --cut; "
                                f"sleep 6; {SET} --host 1 --nic 1 --up", seconds=13)
        self.assert_carries(1, outcome, from_s=FAULT_S + 9)

    def test_all_are_out_for_nearly_the_peer_timeout(self) -> None:
        """Rails have both address families. The peer's probe shows which family works again."""
        outcome = self.transfer(TWO, f"--host 1 --nic 0 --cut; {SET} --host 1 --nic 1 --cut; sleep 8.7; "
                                f"{SET} --host 1 --nic 0 --up; {SET} --host 1 --nic 1 --up", seconds=15)
        self.assert_carries(1.6, outcome, from_s=FAULT_S + 12)


class OtherAddresses(RealHosts):
    """All addresses of a host change at once."""

    def test_of_the_accepting_host(self) -> None:
        outcome = self.transfer([*TWO, "--disable-ipv6"],
                                "--host 1 --nic 0 --address 10.77.0.77/24; "
                                f"{SET} --host 1 --nic 1 --address 10.77.1.77/24", seconds=12)
        self.assert_carries(1.6, outcome, from_s=FAULT_S + 6)


class IdleSession(RealHosts):
    """A stateful firewall between the hosts forgets its connections while nothing is sent, and sends no reset."""

    def test_a_firewall_that_forgets(self) -> None:
        forget = " ".join(f"{SET} --nic {nic} --forget-connections;" for nic in (0, 1))
        outcome = net_perf([*ROUTED, "--routes", "policy", "--stateful"], "--size", "1M", "--duration", "3",
                           "--warmup", "0", "--begin-at", str(time.monotonic() + 22), deadline_s=60,
                           setup="export RAILWEAVE_PEER_TIMEOUT=4",
                           beside="[ $RANK = 1 ] || (until [ $(cat /sys/class/net/eth1/statistics/tx_packets) -gt 8 ]; "
                           f"do sleep 0.1; done; {forget}) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assert_carries(2, outcome, from_s=1)


class SaidClearly(RealHosts):
    """Within ten seconds the log names a rail without a lane, with the cause if the host can find it."""

    def test_a_firewall_from_the_start(self) -> None:
        """The dialling host logs the cause. The other host logs that the peer's log has the cause. No line mentions the
        rail that carries."""
        refused = r"connect to 10\.77\.1\.2:\d+: Connection refused"
        for action, cause in (("drop", r"dialling 10\.77\.1\.2:\d+ from eth1: no answer to the connection: a firewall"),
                              ("reject", refused), ("reset", refused)):
            with self.subTest(action=action):
                outcome = self.transfer([*TWO, "--arp", "strict"], seconds=_TOLD_S,
                                        from_start=f"--host 1 --nic 1 --firewall {action}")
                self.assert_carries(1, outcome)
                self.assertEqual([("eth0", "eth0")], outcome.pairs(), str(outcome))
                dialler, = self.warnings_of(0, outcome, 1)
                self.assertRegex(dialler,
                                 rf"rail eth1 to host1 pid \d+: no lane yet: to its rail eth1, \d+ tries: {cause}",
                                 str(outcome))
                other, = self.warnings_of(1, outcome, 1)
                self.assertRegex(other,
                                 r"rail eth1 to host0 pid \d+: no lane yet: the peer dials the lanes; "
                                 "its log says why this rail has none",
                                 str(outcome))

    def test_rp_filter_with_two_nics_in_a_subnet(self) -> None:
        outcome = self.transfer([*ONE_SWITCH, "--subnets", "shared", "--rp-filter", "1", "--disable-ipv6"],
                                seconds=_TOLD_S)
        self.assert_carries(1, outcome)
        self.assert_warned(outcome, (0, 1), "rp_filter")

    def test_rp_filter_with_two_default_routes(self) -> None:
        outcome = self.transfer([*ROUTED, "--routes", "metric", "--rp-filter", "1", "--disable-ipv6"], seconds=_TOLD_S)
        self.assert_carries(1, outcome)
        self.assert_warned(outcome, (0, 1), "eth1", "rp_filter")

    def test_info_lists_a_rail_without_a_lane(self) -> None:
        """The table of rails lists the rail without a lane beside the one that carries; the table of lanes does not."""
        railweave = kBin / "railweave"
        ask = f"[ $RANK = 1 ] || (moved eth0 100000; sleep 1; {railweave} info --pid $pid | sed 's/^/info /') &"
        outcome = self.transfer([*TWO, "--arp", "strict"], seconds=4, from_start="--host 1 --nic 1 --firewall drop",
                                beside=ask)
        listed = outcome.values(0, "info")
        self.assertIn(["RAIL", "LINK", "LANES"], [line[:3] for line in listed], str(outcome))
        rows = [line for line in listed if line and line[0] in ("eth0", "eth1")]
        self.assertEqual([["eth0", "up", "1"], ["eth1", "up", "0"]], [row[:3] for row in rows[:2]], str(outcome))
        self.assertGreater(float(rows[0][3]), 0, str(outcome))
        self.assertEqual((["0", "B"], "10.77.1.1"), (rows[1][3:5], rows[1][-2]), str(outcome))
        self.assertEqual(["eth0"], [row[0] for row in rows[2:]], str(outcome))  # lanes of the session


if __name__ == "__main__":
    engine_lab.main()
