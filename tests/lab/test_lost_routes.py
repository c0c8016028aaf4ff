"""Links and routes that are lost at one end of a lane."""
from __future__ import annotations

import engine_lab
from real_hosts import CABLES, FAULT_S, ROUTED, SET, TWO, RealHosts, by_half_seconds, longest_pause_s


class BothEnds(RealHosts):
    """A lane is dead for one end and open for the other."""

    def test_direct_cables_link_down_at_the_receiver(self) -> None:
        self.assert_carries(1, self.transfer(CABLES, "--host 1 --nic 1 --down", seconds=8), from_s=FAULT_S + 1)

    def test_direct_cables_link_down_at_the_receiver_and_up_again(self) -> None:
        outcome = self.transfer(CABLES, f"--host 1 --nic 0 --down; sleep 3; {SET} --host 1 --nic 0 --up", seconds=8)
        self.assertLess(longest_pause_s(outcome), 1.5, by_half_seconds(outcome))
        self.assert_carries(1.4, outcome, from_s=FAULT_S)

    def lose_a_link(self, routes: str, *nics: tuple[int, int]) -> None:
        """Takes a link of a routed network down. Asserts that the other rail carries everything."""
        for host, nic in nics:
            with self.subTest(host=host, nic=nic):
                outcome = self.transfer([*ROUTED, "--routes", routes], f"--host {host} --nic {nic} --down")
                self.assert_carries(1, outcome, from_s=FAULT_S + 1)
                self.assert_no_pause(outcome, FAULT_S + 1)

    def test_routed_a_default_route_goes_with_a_link(self) -> None:
        self.lose_a_link("metric", (0, 0), (1, 1))

    def test_routed_the_only_default_route_goes_with_a_link(self) -> None:
        self.lose_a_link("rail", (1, 0))

    def test_routed_the_route_to_one_rail_goes_with_a_link(self) -> None:
        self.lose_a_link("rail", (0, 1), (1, 1))

    def test_routed_routes_are_lost_and_the_receivers_link_stays(self) -> None:
        for nic in (0, 1):
            with self.subTest(nic=nic):
                outcome = self.transfer(ROUTED, f"--host 1 --nic {nic} --lose-routes", seconds=12)
                self.assert_no_pause(outcome, FAULT_S + 1)
                self.assert_carries(1, outcome, from_s=FAULT_S + 1)

    def test_a_default_route_by_one_nic_only(self) -> None:
        outcome = self.transfer([*ROUTED, "--routes", "one"], seconds=12)
        self.assert_no_pause(outcome)
        self.assert_carries(1, outcome)

    def test_all_paths_to_a_rail_are_dead_at_first(self) -> None:
        """ECMP: a new dial has another source port, and may take another path. All dials fail at first, later one path
        in twenty is dead."""
        outcome = self.transfer([*ROUTED, "--routes", "policy"], "--host 1 --nic 1 --lose-flows 5", seconds=14,
                                from_start="--host 1 --nic 1 --lose-flows 100")
        self.assert_no_pause(outcome)
        self.assert_carries(2, outcome, from_s=11)

    def test_policy_routing(self) -> None:
        self.assert_both_carry(self.transfer([*ROUTED, "--routes", "policy"], seconds=4))

    def test_a_nic_that_leads_nowhere(self) -> None:
        for host in (0, 1):
            with self.subTest(host=host):
                outcome = self.transfer([*TWO, "--nowhere", f"{host}:1"], seconds=12)
                said = "".join(outcome.warnings(0) + outcome.warnings(1))
                self.assertNotIn("carries again", said, str(outcome))
                self.assert_no_pause(outcome)
                self.assert_carries(1, outcome)

    def test_ipv4_is_broken_on_one_rail_of_two_families(self) -> None:
        """The rail carries over IPv6."""
        outcome = self.transfer([*TWO, "--dual-stack"], seconds=10,
                                from_start="--host 1 --nic 1 --firewall drop --at port --family ipv4")
        self.assert_no_pause(outcome)
        self.assert_carries(2, outcome, from_s=4)


if __name__ == "__main__":
    engine_lab.main()
