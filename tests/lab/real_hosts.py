"""Shared by the tests of networks as real hosts have them: Linux's default ARP, one switch, routers, pods, and faults
of switches and firewalls. All rails carry, a loss costs a moment, and the log names what is wrong with a rail.

A rail carries 100 Mb/s; with --shape both, both directions are limited. Tests compare the payload that arrives. The
receiver's interface counters show which NIC carried.
"""
from __future__ import annotations

from engine_lab import EngineTest, Outcome, net_perf
from bench.faults import recovery

_RAIL_MBPS = 95.0  # payload of one rail
_LEAST_TOO_MUCH = 1.3  # times the expected payload: the fault cannot have happened
_MOST = 0.85  # share of the rails' payload that must arrive: the machine may be busy
CABLES = ["--management", "--favour", "--rate", "100mbit"]  # ranks meet where no fault is, before other programs
TWO = [*CABLES, "--shape", "both"]
ONE_SWITCH = [*TWO, "--network", "one-switch"]
ROUTED = [*TWO, "--network", "routed"]
SET = "$RWLAB_PROGRAM set"
FAULT_S = 1.5  # time of the fault in the timed block


def payload_mbps(outcome: Outcome, from_s: float, until_s: float = 1e9) -> float:
    """Returns the rate of the messages that arrived between two times, in seconds of the timed block."""
    try:
        return 1000 * recovery.mean_gbps(recovery.bins(outcome.result), from_s, until_s)
    except ValueError:  # nothing was recorded between the two times
        return 0.0


def longest_pause_s(outcome: Outcome, from_s: float = 0.0) -> float:
    """Returns the longest time without a complete message, from second `from_s` of the timed block on."""
    found = recovery.bins(outcome.result)
    chosen = [b for b in found if b.begin_s >= found[0].begin_s + from_s]
    ends = [chosen[0].begin_s, *(b.end_s for b in chosen if b.payload_bytes), chosen[-1].end_s]
    return max(later - earlier for earlier, later in zip(ends, ends[1:]))


_PAUSE_S = 0.6  # a shorter time without a complete message is no pause; one rail needs 0.09 s for a message


def by_half_seconds(outcome: Outcome) -> str:
    last_s = outcome.result["seconds"]
    return " ".join(f"{payload_mbps(outcome, n / 2, n / 2 + 0.5):.0f}" for n in range(int(2 * last_s)))


class RealHosts(EngineTest):
    def transfer(self, lab: list[str], fault: str = "", seconds: float = 6, from_start: str = "", beside: str = "",
                 setup: str = "") -> Outcome:
        """Sends 1 MiB messages, four in flight, from host 0 to host 1. `fault` and `from_start` are options of
        `tools/lab set`: `fault` happens at FAULT_S, `from_start` before anything is sent. `setup`, instead of
        `from_start`, is a script that each rank runs first. Asserts that no rank failed and no byte is wrong."""
        once = ["--at", f"{FAULT_S}:{SET} {fault}"] if fault else []
        outcome = net_perf(lab, "--size", "1M", "--duration", str(seconds), "--warmup", "0.5", *once,
                           deadline_s=seconds + 25,
                           setup=f"[ $RANK = 1 ] || {SET} {from_start} || exit 1" if from_start else setup,
                           beside=beside)
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual([0] if fault else [], [event["exit"] for event in outcome.result["events"]],
                         f"the fault did not happen: {outcome}")
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        return outcome

    def assert_carries(self, rails: float, outcome: Outcome, from_s: float = 0.5) -> None:
        """Asserts that the payload of `rails` rails arrives from second `from_s` on. For a whole number also asserts
        that no more arrives: more means that the fault did not happen."""
        if rails == int(rails):
            self.assertLess(payload_mbps(outcome, from_s), _LEAST_TOO_MUCH * rails * _RAIL_MBPS,
                            f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")
        self.assert_carries_at_least(rails, outcome, from_s)

    def assert_carries_at_least(self, rails: float, outcome: Outcome, from_s: float = 0.5) -> None:
        """Asserts that at least the payload of `rails` rails arrives from second `from_s` on."""
        seen = payload_mbps(outcome, from_s)
        self.assertGreater(seen, _MOST * rails * _RAIL_MBPS,
                           f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")

    def assert_no_pause(self, outcome: Outcome, from_s: float = 0.0) -> None:
        self.assertLess(longest_pause_s(outcome, from_s), _PAUSE_S,
                        f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")

    def assert_both_carry(self, outcome: Outcome, nics: tuple[str, ...] = ("eth0", "eth1")) -> None:
        """Asserts that each of these NICs of the receiver got its share, by its counters."""
        arrived = [outcome.carried(1)[nic][1] for nic in nics]
        self.assertGreater(min(arrived), 0.7 / len(nics) * sum(arrived), f"{dict(zip(nics, arrived))}\n{outcome}")
        self.assert_carries(len(nics), outcome)

    def assert_warned(self, outcome: Outcome, hosts: tuple[int, ...], *words: str) -> None:
        """Asserts that on each host one line at WARN has all the words."""
        for host in hosts:
            self.assertTrue(any(all(word in line for word in words) for line in outcome.warnings(host)),
                            f"host {host}, {words}: {outcome}")
