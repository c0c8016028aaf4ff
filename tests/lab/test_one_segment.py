"""Several NICs in one segment. With Linux's default settings any NIC answers ARP for any address of its host."""
from __future__ import annotations

import engine_lab
from engine_lab import Outcome, net_perf
from real_hosts import FAULT_S, ONE_SWITCH, SET, TWO, RealHosts


class OneSegment(RealHosts):
    def test_both_nics_carry(self) -> None:
        for subnets in ("shared", "disjoint"):
            with self.subTest(subnets=subnets):
                self.assert_both_carry(self.transfer([*ONE_SWITCH, "--subnets", subnets], seconds=4))

    def test_both_nics_of_pods_carry(self) -> None:
        self.assert_both_carry(self.transfer([*TWO, "--pods", "--subnets", "shared"], seconds=4), ("net1", "net2"))

    def test_without_ipv6_the_setting_that_mends_it_is_said(self) -> None:
        outcome = self.transfer([*ONE_SWITCH, "--disable-ipv6"], seconds=12)
        self.assert_carries(1, outcome)
        self.assert_warned(outcome, (0, 1), "arp_ignore")

    def test_a_nic_that_is_no_rail_takes_no_connection_of_a_rail(self) -> None:
        """The NIC answers ARP for the rail's address, too, and the first of two answers counts."""
        outcome = self.transfer(ONE_SWITCH, seconds=3, setup="export RAILWEAVE_RAILS=eth0")
        self.assert_carries(1, outcome)
        carried = outcome.carried(1)
        self.assertGreater(carried["eth0"][1], 10 * carried["eth1"][1], str(outcome))

    def test_without_ipv6_the_refusal_names_the_setting_to_change(self) -> None:
        """Connections arrive at the NIC that is no rail, and without IPv6 there is no other way."""
        outcome = net_perf([*ONE_SWITCH, "--disable-ipv6"], "--size", "1M", "--duration", "1", deadline_s=40,
                           setup="export RAILWEAVE_RAILS=eth0")
        self.assertNotEqual(0, outcome.status, str(outcome))
        self.assert_warned(outcome, (0,), "arrived on eth1, which is no rail here", "arp_ignore")

    def test_both_nics_carry_under_ip_nonlocal_bind(self) -> None:
        """Hosts that take over addresses (keepalived, kube-vip) may bind foreign addresses, so an address that can be
        bound need not be the host's."""
        allow = "for v in 4 6; do echo 1 > /proc/sys/net/ipv$v/ip_nonlocal_bind || exit 1; done"
        self.assert_both_carry(self.transfer(ONE_SWITCH, seconds=4, setup=allow))

    def lose_the_nic_that_carries(self, how: str, *lab: str) -> Outcome:
        """Applies the fault `how` to the receiver's NIC that carries, by its counters."""
        lose = f"""
            came_in() {{ cat /sys/class/net/eth$1/statistics/rx_bytes; }}
            [ $RANK = 0 ] || (until [ $(($(came_in 0) + $(came_in 1))) -gt 24000000 ]; do sleep 0.05; done
                              nic=0; [ $(came_in 0) -gt $(came_in 1) ] || nic=1
                              {SET} --host 1 --nic $nic {how} && echo lost eth$nic) &"""
        outcome = self.transfer([*ONE_SWITCH, *lab], seconds=7, beside=lose)
        self.assertTrue(outcome.values(1, "lost"), f"the fault did not happen: {outcome}")
        return outcome

    def test_the_nic_that_carries_is_taken_down(self) -> None:
        for subnets in ("shared", "disjoint"):
            with self.subTest(subnets=subnets):
                self.assert_carries(1, self.lose_the_nic_that_carries("--down", "--subnets", subnets), from_s=4)

    def test_the_port_of_the_nic_that_carries_goes_down(self) -> None:
        for subnets in ("shared", "disjoint"):
            with self.subTest(subnets=subnets):
                self.assert_carries(1, self.lose_the_nic_that_carries("--port-down", "--subnets", subnets), from_s=4)

    def test_three_and_four_nics(self) -> None:
        """All NICs carry, and the log stays short."""
        for nics in (3, 4):
            with self.subTest(nics=nics):
                outcome = self.transfer([*ONE_SWITCH, "--nics", str(nics)], seconds=4)
                self.assertLess(len(outcome.warnings(0) + outcome.warnings(1)), 10, str(outcome))
                self.assert_both_carry(outcome, tuple(f"eth{nic}" for nic in range(nics)))

    def test_arp_flips_in_mid_transfer(self) -> None:
        self.assert_carries_at_least(1, self.transfer(ONE_SWITCH, "--host 1 --nic 1 --arp-flip 0"), from_s=3)


class SameAddressNewMac(RealHosts):
    """The NIC gets a new MAC without announcing it, as of a container that is made anew under its old address, or of a
    bond that fails over."""

    def test_in_mid_transfer(self) -> None:
        outcome = self.transfer([*ONE_SWITCH, "--arp", "strict", "--disable-ipv6"], "--host 1 --nic 1 --new-mac",
                                seconds=14)
        self.assert_no_pause(outcome, FAULT_S + 1)
        self.assert_carries_at_least(1, outcome, from_s=FAULT_S + 1)


if __name__ == "__main__":
    engine_lab.main()
