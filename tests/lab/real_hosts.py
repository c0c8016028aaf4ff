"""What the tests of real hosts share: networks as they are outside of labs, with Linux's own ARP, one switch, routers,
pods, and faults of switches and firewalls. All rails carry, a loss costs a moment, and what is wrong with a rail is
said.

Rails are of 100 Mb/s, shaped both ways. What a test expects is the payload that arrives; which NIC carried is told by
the receiver's counters.
"""
from __future__ import annotations

from engine_lab import EngineTest, Outcome, net_perf
from bench.faults import recovery

_RAIL_MBPS = 95.0  # payload of one rail
_LEAST_TOO_MUCH = 1.3
_MOST = 0.85  # of what the rails carry: the machine does other things meanwhile
CABLES = ["--management", "--favour", "--rate", "100mbit"]  # ranks meet where no fault is, and go before other programs
TWO = [*CABLES, "--shape", "both"]
ONE_SWITCH = [*TWO, "--network", "one-switch"]
ROUTED = [*TWO, "--network", "routed"]
SET = "$RWLAB_PROGRAM set"
FAULT_S = 1.5  # into the timed block


def payload_mbps(outcome: Outcome, from_s: float, until_s: float = 1e9) -> float:
    """What arrived of messages, by seconds of the timed block."""
    found = recovery.bins(outcome.result)
    zero_s = found[0].begin_s
    chosen = [b for b in found if b.begin_s >= zero_s + from_s and b.end_s <= zero_s + until_s]
    if not chosen:
        return 0.0
    return sum(b.payload_bytes for b in chosen) * 8e-6 / max(chosen[-1].end_s - chosen[0].begin_s, 1e-9)


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
    def transfer(self, lab: list[str], fault: str = "", seconds: float = 6, from_start: str = "", beside: str = "",
                 setup: str = "") -> Outcome:
        """1 MiB messages, four in flight, from host 0 to host 1. `fault` comes at FAULT_S, `from_start` before anything
        is sent: both are options of `tools/lab set`; `setup` is a script that each rank runs first, instead. Ends
        without an error or a wrong byte."""
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
        """The payload of so many rails from that second on; of a whole number no more either:
        else the fault did not happen."""
        if rails == int(rails):
            self.assertLess(payload_mbps(outcome, from_s), _LEAST_TOO_MUCH * rails * _RAIL_MBPS,
                            f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")
        self.assert_carries_at_least(rails, outcome, from_s)

    def assert_carries_at_least(self, rails: float, outcome: Outcome, from_s: float = 0.5) -> None:
        """The fault is over in a moment, or harmless."""
        seen = payload_mbps(outcome, from_s)
        self.assertGreater(seen, _MOST * rails * _RAIL_MBPS,
                           f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")

    def assert_no_pause(self, outcome: Outcome, from_s: float = 0.0) -> None:
        self.assertLess(longest_pause_s(outcome, from_s), _PAUSE_S,
                        f"Mb/s by half seconds: {by_half_seconds(outcome)}\n{outcome}")

    def assert_both_carry(self, outcome: Outcome, nics: tuple[str, ...] = ("eth0", "eth1")) -> None:
        """Each NIC of the receiver its share, by its counters."""
        arrived = [outcome.carried(1)[nic][1] for nic in nics]
        self.assertGreater(min(arrived), 0.7 / len(nics) * sum(arrived), f"{dict(zip(nics, arrived))}\n{outcome}")
        self.assert_carries(len(nics), outcome)

    def assert_warned(self, outcome: Outcome, hosts: tuple[int, ...], *words: str) -> None:
        """One line at WARN has all the words."""
        for host in hosts:
            self.assertTrue(any(all(word in line for word in words) for line in outcome.warnings(host)),
                            f"host {host}, {words}: {outcome}")
