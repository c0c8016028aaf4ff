"""Networks as they are outside of labs: Linux's own ARP, one switch, routers, pods, and faults of switches and firewalls. Both rails carry,
a loss costs a moment, and what is wrong with a rail is said.

Tests that are marked are red at 3c58d58, and the reason says how; whoever mends one takes its mark away.

Rails are of 100 Mb/s, shaped both ways. What a test expects is the payload that arrives; which NIC carried is told by the
receiver's counters.
"""
from __future__ import annotations

import time
import unittest

import engine_lab
from engine_lab import EngineTest, Outcome, kBin, net_perf
from faultkit import recovery

_RAIL_MBPS = 95.0  # payload of one rail
_MOST = 0.85  # of what the rails carry: the machine does other things meanwhile
_CABLES = ["--management", "--favour", "--rate", "100mbit"]  # ranks meet where no fault is, and go before other programs
_TWO = [*_CABLES, "--shape", "both"]
_ONE_SWITCH = [*_TWO, "--network", "one-switch"]
_ROUTED = [*_TWO, "--network", "routed"]
_SET = "$RWLAB_PROGRAM set"
_FAULT_S = 1.5  # into the timed block


def payload_mbps(outcome: Outcome, from_s: float, until_s: float = 1e9) -> float:
    """What arrived of messages, by seconds of the timed block."""
    found = recovery.bins(outcome.result)
    zero_s = found[0].begin_s
    chosen = [b for b in found if b.begin_s >= zero_s + from_s and b.end_s <= zero_s + until_s]
    return sum(b.payload_bytes for b in chosen) * 8e-6 / max(chosen[-1].end_s - chosen[0].begin_s, 1e-9) if chosen else 0.0


def longest_pause_s(outcome: Outcome, from_s: float = 0.0) -> float:
    """In which no message was complete, from that second of the timed block on."""
    found = recovery.bins(outcome.result)
    chosen = [b for b in found if b.begin_s >= found[0].begin_s + from_s]
    ends = [chosen[0].begin_s, *(b.end_s for b in chosen if b.payload_bytes), chosen[-1].end_s]
    return max(later - earlier for earlier, later in zip(ends, ends[1:]))


_PAUSE_S = 0.6  # without a fault; messages are complete every 0.09 s


def by_half_seconds(outcome: Outcome) -> str:
    last_s = outcome.result["seconds"]
    return " ".join(f"{payload_mbps(outcome, n / 2, n / 2 + 0.5):.0f}" for n in range(int(2 * last_s)))


class RealHosts(EngineTest):
    def transfer(self, lab: list[str], fault: str = "", seconds: float = 6, from_start: str = "", beside: str = "") -> Outcome:
        """1 MiB messages, four in flight, from host 0 to host 1. `fault` comes at _FAULT_S, `from_start` before anything is sent: both
        are options of `perf/lab set`. Ends without an error or a wrong byte."""
        once = ["--at", f"{_FAULT_S}:{_SET} {fault}"] if fault else []
        outcome = net_perf(lab, "--size", "1M", "--duration", str(seconds), "--warmup", "0.5", *once, deadline_s=seconds + 25,
                           setup=f"[ $RANK = 1 ] || {_SET} {from_start}" if from_start else "", beside=beside)
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        return outcome

    def assert_carries(self, rails: float, outcome: Outcome, from_s: float = 0.5) -> None:
        """The payload of so many rails from that second on."""
        seen = payload_mbps(outcome, from_s)
        self.assertGreater(seen, _MOST * rails * _RAIL_MBPS, f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")

    def assert_no_pause(self, outcome: Outcome, from_s: float = 0.0) -> None:
        self.assertLess(longest_pause_s(outcome, from_s), _PAUSE_S, f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")

    def assert_both_carry(self, outcome: Outcome, nics: tuple[str, ...] = ("eth0", "eth1")) -> None:
        """Each NIC of the receiver its share, by its counters."""
        arrived = [outcome.carried(1)[nic][1] for nic in nics]
        self.assertGreater(min(arrived), 0.7 / len(nics) * sum(arrived), f"{dict(zip(nics, arrived))}\n{outcome}")
        self.assert_carries(len(nics), outcome)

    def assert_warned(self, outcome: Outcome, hosts: tuple[int, ...], *words: str) -> None:
        """One line at WARN has all the words."""
        for host in hosts:
            self.assertTrue(any(all(word in line for word in words) for line in outcome.warnings(host)), f"host {host}, {words}: {outcome}")


class OneSegment(RealHosts):
    """real-hosts 1: any NIC answers ARP for any address of its host."""

    def test_both_nics_carry(self) -> None:
        for subnets in ("shared", "disjoint"):
            with self.subTest(subnets=subnets):
                self.assert_both_carry(self.transfer([*_ONE_SWITCH, "--subnets", subnets], seconds=4))

    def test_both_nics_of_pods_carry(self) -> None:
        self.assert_both_carry(self.transfer([*_TWO, "--pods", "--subnets", "shared"], seconds=4), ("net1", "net2"))

    def test_without_ipv6_the_setting_that_mends_it_is_said(self) -> None:
        outcome = self.transfer([*_ONE_SWITCH, "--disable-ipv6"], seconds=12)
        self.assert_carries(1, outcome)
        self.assert_warned(outcome, (0, 1), "arp_ignore")

    def lose_the_nic_that_carries(self, how: str, *lab: str) -> Outcome:
        """Which of the receiver's NICs that is, is found by its counters."""
        lose = f"""
            came_in() {{ cat /sys/class/net/eth$1/statistics/rx_bytes; }}
            [ $RANK = 0 ] || (until [ $(($(came_in 0) + $(came_in 1))) -gt 24000000 ]; do sleep 0.05; done
                              nic=0; [ $(came_in 0) -gt $(came_in 1) ] || nic=1
                              {_SET} --host 1 --nic $nic {how}; echo lost eth$nic) &"""
        return self.transfer([*_ONE_SWITCH, *lab], seconds=7, beside=lose)

    def test_the_nic_that_carries_is_taken_down(self) -> None:
        for subnets in ("shared", "disjoint"):
            with self.subTest(subnets=subnets):
                self.assert_carries(1, self.lose_the_nic_that_carries("--down", "--subnets", subnets), from_s=4)

    def test_the_port_of_the_nic_that_carries_goes_down(self) -> None:
        for subnets in ("shared", "disjoint"):
            with self.subTest(subnets=subnets):
                self.assert_carries(1, self.lose_the_nic_that_carries("--port-down", "--subnets", subnets), from_s=4)

    def test_three_and_four_nics(self) -> None:
        """real-hosts 6.5; and the log stays short."""
        for nics in (3, 4):
            with self.subTest(nics=nics):
                outcome = self.transfer([*_ONE_SWITCH, "--nics", str(nics)], seconds=4)
                self.assertLess(len(outcome.warnings(0) + outcome.warnings(1)), 10, str(outcome))
                self.assert_both_carry(outcome, tuple(f"eth{nic}" for nic in range(nics)))

    def test_arp_flips_in_mid_transfer(self) -> None:
        self.assert_carries(1, self.transfer(_ONE_SWITCH, "--host 1 --nic 1 --arp-flip 0"), from_s=3)


class BothEnds(RealHosts):
    """real-hosts 2: a lane that stands at one end only."""

    def test_direct_cables_link_down_at_the_receiver(self) -> None:
        self.assert_carries(1, self.transfer(_CABLES, "--host 1 --nic 1 --down", seconds=8), from_s=_FAULT_S + 1)

    def test_direct_cables_link_down_at_the_receiver_until_it_returns(self) -> None:
        outcome = self.transfer(_CABLES, f"--host 1 --nic 0 --down; sleep 3; {_SET} --host 1 --nic 0 --up", seconds=8)
        self.assertLess(longest_pause_s(outcome), 1.5, by_half_seconds(outcome))
        self.assert_carries(1.4, outcome, from_s=_FAULT_S)

    def lose_a_link(self, routes: str, *nics: tuple[int, int]) -> None:
        """Of a routed network: the other rail does the rest."""
        for host, nic in nics:
            with self.subTest(host=host, nic=nic):
                outcome = self.transfer([*_ROUTED, "--routes", routes], f"--host {host} --nic {nic} --down")
                self.assert_carries(1, outcome, from_s=_FAULT_S + 1)
                self.assert_no_pause(outcome, _FAULT_S + 1)

    def test_routed_a_default_route_goes_with_a_link(self) -> None:
        self.lose_a_link("metric", (0, 0), (1, 1))

    def test_routed_the_only_default_route_goes_with_a_link(self) -> None:
        self.lose_a_link("rail", (1, 0))

    def test_routed_the_route_to_one_rail_goes_with_a_link(self) -> None:
        self.lose_a_link("rail", (0, 1), (1, 1))

    def test_routed_the_routes_are_lost_at_the_receiver_and_the_link_stays(self) -> None:
        for nic in (0, 1):
            with self.subTest(nic=nic):
                outcome = self.transfer(_ROUTED, f"--host 1 --nic {nic} --lose-routes", seconds=12)
                self.assert_no_pause(outcome, _FAULT_S + 1)
                self.assert_carries(1, outcome, from_s=_FAULT_S + 1)

    def test_a_default_route_by_one_nic_only(self) -> None:
        outcome = self.transfer([*_ROUTED, "--routes", "one"], seconds=12)
        self.assert_no_pause(outcome)
        self.assert_carries(1, outcome)

    def test_policy_routing(self) -> None:
        self.assert_both_carry(self.transfer([*_ROUTED, "--routes", "policy"], seconds=4))

    def test_a_nic_that_leads_nowhere(self) -> None:
        for host in (0, 1):
            with self.subTest(host=host):
                outcome = self.transfer([*_TWO, "--nowhere", f"{host}:1"], seconds=12)
                said = "".join(outcome.warnings(0) + outcome.warnings(1))
                self.assertNotIn("carries again", said, str(outcome))
                self.assert_no_pause(outcome)
                self.assert_carries(1, outcome)

    def test_ipv4_is_broken_on_one_rail_of_two_families(self) -> None:
        """IPv6 carries there."""
        outcome = self.transfer([*_TWO, "--dual-stack"], seconds=10, from_start="--host 1 --nic 1 --firewall drop --at port --family ipv4")
        self.assert_no_pause(outcome)
        self.assert_carries(2, outcome, from_s=4)


class SmallPacketsOnly(RealHosts):
    """real-hosts 3: a rail that passes a handshake and no data."""

    def test_a_port_of_small_mtu(self) -> None:
        outcome = self.transfer([*_TWO, "--mtu", "9000"], seconds=10, from_start="--host 1 --nic 1 --port-mtu 1500")
        self.assert_carries(1, outcome, from_s=3)
        self.assert_warned(outcome, (0,), "eth1", "MTU")

    def test_a_port_of_small_mtu_beside_three_good_ones(self) -> None:
        outcome = self.transfer([*_TWO, "--nics", "4", "--mtu", "9000"], seconds=10,
                                from_start="--host 1 --nic 1 --port-mtu 1500")
        self.assert_carries(3, outcome, from_s=3)

    def test_a_rail_that_loses_much(self) -> None:
        self.assert_carries(1, self.transfer(_TWO, seconds=10, from_start="--host 1 --nic 1 --lose 40"), from_s=3)

    def test_a_rail_that_begins_to_lose_much(self) -> None:
        self.assert_carries(1, self.transfer(_TWO, "--host 1 --nic 1 --lose 40", seconds=10), from_s=_FAULT_S + 3)


class OtherAddresses(RealHosts):
    """real-hosts 5: all addresses of a host change at once."""

    def test_of_the_accepting_host(self) -> None:
        outcome = self.transfer([*_TWO, "--disable-ipv6"],
                                f"--host 1 --nic 0 --address 10.77.0.77/24; {_SET} --host 1 --nic 1 --address 10.77.1.77/24", seconds=12)
        self.assert_carries(1.6, outcome, from_s=_FAULT_S + 6)


class IdleSession(RealHosts):
    """real-hosts 6.2: a stateful firewall between forgets its connections while nothing is sent, and resets nobody."""

    def test_a_firewall_that_forgets(self) -> None:
        forget = " ".join(f"{_SET} --nic {nic} --forget-connections;" for nic in (0, 1))
        outcome = net_perf([*_ROUTED, "--routes", "policy", "--stateful"], "--size", "1M", "--duration", "3", "--warmup", "0",
                           "--begin-at", str(time.monotonic() + 22), deadline_s=60, setup="export RAILWEAVE_PEER_TIMEOUT=4",
                           beside=f"[ $RANK = 1 ] || (until [ $(cat /sys/class/net/eth1/statistics/tx_packets) -gt 8 ]; do sleep 0.1; done; {forget}) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assert_carries(2, outcome, from_s=1)


class SaidClearly(RealHosts):
    """real-hosts 4: within ten seconds a rail without a lane is named, with its cause where the host knows it."""

    def test_a_firewall_from_the_start(self) -> None:
        for action in ("drop", "reject", "reset"):
            with self.subTest(action=action):
                outcome = self.transfer([*_TWO, "--arp", "strict"], seconds=12, from_start=f"--host 1 --nic 1 --firewall {action}")
                self.assert_carries(1, outcome)
                self.assert_warned(outcome, (0,), "eth1")

    def test_rp_filter_with_two_nics_in_a_subnet(self) -> None:
        outcome = self.transfer([*_ONE_SWITCH, "--subnets", "shared", "--rp-filter", "1", "--disable-ipv6"], seconds=12)
        self.assert_carries(1, outcome)
        self.assert_warned(outcome, (0, 1), "rp_filter")

    def test_info_lists_a_rail_without_a_lane(self) -> None:
        ask = f"[ $RANK = 1 ] || (moved eth0 100000; sleep 1; echo info $({kBin / 'railweave-info'} --pid $pid | tr '\\n' ' ')) &"
        outcome = self.transfer([*_TWO, "--arp", "strict"], seconds=4, from_start="--host 1 --nic 1 --firewall drop", beside=ask)
        listed, = outcome.values(0, "info")
        self.assertIn("eth1", " ".join(listed), str(outcome))


if __name__ == "__main__":
    engine_lab.main()
