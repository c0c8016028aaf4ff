"""The request and the plan: pure, so these run anywhere."""
from __future__ import annotations

import unittest

import support
from labkit.plan import Plan, make_plan
from labkit.shaping import burst_bytes, tbf_args
from labkit.spec import SpecError, make_spec, parse_rate


class Rates(unittest.TestCase):
    def test_units_are_decimal(self) -> None:
        self.assertEqual(parse_rate("2gbit"), 2_000_000_000)
        self.assertEqual(parse_rate("1.5Mbit"), 1_500_000)

    def test_bad_rate_is_named(self) -> None:
        for text in ("fast", "2", "2gb", "-1gbit", "1bit", ""):
            with self.assertRaisesRegex(SpecError, f"rate '{text}'"):
                parse_rate(text)

    def test_bucket_holds_a_millisecond_and_at_least_16_kib(self) -> None:
        self.assertEqual(burst_bytes(2_000_000_000), 250_000)
        self.assertEqual(burst_bytes(100_000_000), 16_384)
        self.assertEqual(tbf_args(10**9, "host")[-2:], ["latency", "50ms"])
        self.assertEqual(tbf_args(10**9, "switch")[-2:], ["limit", str(2 * 1024 * 1024)])

    def test_rates_repeat_and_differ_per_host(self) -> None:
        self.assertEqual(make_spec(2, "2", "2gbit,1gbit").rates_bps, ((2 * 10**9, 10**9),) * 2)
        self.assertEqual(make_spec(2, "2,4", "2gbit/1gbit").rates_bps, ((2 * 10**9,) * 2, (10**9,) * 4))

    def test_impossible_requests_are_refused(self) -> None:
        for hosts, nics, rate in ((0, "1", None), (2, "2,2,2", None), (2, "x", None), (2, "1", "1gbit,1gbit"), (2, "0", None),
                                  (2, "1", "1gbit/1gbit/1gbit")):
            with self.assertRaises(SpecError):
                make_spec(hosts, nics, rate)
        for names in ("lo", "a", "eth0", "eth,ens,x"):
            with self.assertRaises(SpecError):
                make_spec(2, "2", None, names)


class Plans(unittest.TestCase):
    def test_equal_disjoint_hosts_are_wired_directly(self) -> None:
        plan = make_plan(make_spec(2, "2", None, "eth,ens"), "x")
        self.assertIsNone(plan.switch_ns)
        self.assertEqual([nic.address for nic in plan.hosts[1].nics], ["10.77.0.2", "10.77.1.2"])
        self.assertEqual((plan.hosts[0].nics[1].peer_ns, plan.hosts[0].nics[1].peer_dev), ("x-host1", "ens1"))

    def test_every_nic_of_the_richer_host_has_a_counterpart(self) -> None:
        plan = make_plan(make_spec(2, "2,4"), "x")
        self.assertEqual([nic.subnet for nic in plan.hosts[1].nics], [0, 1, 0, 1])
        self.assertEqual(plan.switch_ns, "x-switch")

    def test_addresses_are_unique(self) -> None:
        for subnets in ("disjoint", "shared"):
            for ipv6 in (False, True):
                plan = make_plan(make_spec(5, "2,4,1,3,8", subnets=subnets, ipv6=ipv6), "x")
                addresses = [nic.address for host in plan.hosts for nic in host.nics]
                self.assertEqual(len(addresses), len(set(addresses)))

    def test_json_keeps_everything(self) -> None:
        plan = make_plan(make_spec(3, "2", "1gbit", shape="switch"), "x")
        self.assertEqual(Plan.from_json(plan.to_json()), plan)


if __name__ == "__main__":
    support.main(needs_root=False)
