"""How senders that come and go share one NIC, from the receivers' records. Pure functions.

Times are seconds of CLOCK_MONOTONIC, which all ranks of one machine share."""
from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .fairness import Arrivals, arrivals, jain

kBin_s = 1.0
kFine_s = 0.1  # resolution of a picture, and of the receivers' records
kAway_s = 2.0
# Goodput leaves out the end of a span: net_perf counts a message when it is complete, so the last message of each
# sender is never counted.
kUnseen_s = 0.5


@dataclass(frozen=True)
class Turn:
    """A process that is to send. Times are from the moment at which the first sender joins."""

    sender: int
    starts_s: float  # start of the process; -inf: at once, so that it connects before all begin
    joins_s: float
    leaves_s: float


@dataclass(frozen=True)
class Visit:
    """A process that sent: from the moment at which both ends had begun until the first of both ended."""

    arrivals: Arrivals
    joined_s: float
    left_s: float

    def got(self, begin_s: float, end_s: float) -> float:
        return self.arrivals.by(end_s) - self.arrivals.by(begin_s)

    def is_active(self, begin_s: float, end_s: float) -> bool:
        """Whether the sender was present in the whole time."""
        return self.joined_s <= begin_s and self.left_s >= end_s


@dataclass(frozen=True)
class Bin:
    begin_s: float
    shares: list[float]  # bytes of each sender active in the whole bin


def turns(senders: int, stagger_s: float, duration_s: float, leave: bool) -> list[Turn]:
    """Spreads joins over `stagger_s`; all end together at `duration_s`. With `leave` every fourth sender is away for
    kAway_s in the middle of its time. A new process, started when the old one leaves, replaces it afterwards."""
    made = []
    for sender in range(senders):
        joins_s = stagger_s * sender / senders
        if not leave or sender % 4 != 3:
            made.append(Turn(sender, -math.inf, joins_s, duration_s))
            continue
        leaves_s = joins_s + (duration_s - joins_s - kAway_s) / 2
        made += [Turn(sender, -math.inf, joins_s, leaves_s), Turn(sender, leaves_s, leaves_s + kAway_s, duration_s)]
    return made


def evenly(found: Arrivals, message_bytes: int) -> Arrivals:
    """Corrects totals of a program that counts only complete messages. The first message after a gap is spread evenly
    over the gap. Further messages of the same moment stay in that moment, so that a sender that had nothing and then
    much still shows as one. `message_bytes` 0: bytes count as they arrive."""
    at, total = found.at_s, list(found.total_bytes)
    before = 0  # index of the last increase
    for now in range(1, len(at)):
        if found.total_bytes[now] == found.total_bytes[before]:
            continue
        first = min(message_bytes, found.total_bytes[now] - found.total_bytes[before])
        for i in range(before + 1, now):
            total[i] += round(first * (at[i] - at[before]) / (at[now] - at[before]))
        before = now
    return replace(found, total_bytes=total)


def visit(result: dict, counts_whole: bool) -> Visit:
    """`result`: as for arrivals(). `counts_whole`: the program counts complete messages, as net_perf does and raw_tcp
    does not."""
    begun = [rank["t0_monotonic_ns"] * 1e-9 for rank in result["ranks"]]
    ended = [begin + rank["seconds"] for begin, rank in zip(begun, result["ranks"])]
    return Visit(evenly(arrivals(result), result["size"] if counts_whole else 0), max(begun), min(ended))


def bins(visits: list[Visit]) -> list[Bin]:
    """Returns bins that begin at each join and leave, and every second after that until the next one. Bins overlap.
    Leaves out bins with fewer than two active senders, which show nothing about shares."""
    events = _events(visits)
    starts = [at + n * kBin_s for at, until in zip(events, events[1:]) for n in range(math.ceil((until - at) / kBin_s))]
    found = [Bin(start, [one.got(start, start + kBin_s) for one in visits if one.is_active(start, start + kBin_s)])
             for start in starts]
    return [one for one in found if len(one.shares) > 1]


def rates_mbps(one: Visit) -> list[float]:
    """Returns the rate in each kFine_s from the join on. Leaves out a shorter rest."""
    count = int((one.left_s - one.joined_s) / kFine_s + 1e-6)
    edges = [one.joined_s + number * kFine_s for number in range(count + 1)]
    return [one.got(begin, end) * 8e-6 / kFine_s for begin, end in zip(edges, edges[1:])]


def together(visits: list[Visit], senders: int) -> list[tuple[float, float]]:
    """Returns the spans in which `senders` send."""
    spans: list[tuple[float, float]] = []
    events = _events(visits)
    for begin, end in zip(events, events[1:]):
        if sum(one.is_active(begin, end) for one in visits) < senders:
            continue
        if spans and spans[-1][1] == begin:
            begin = spans.pop()[0]
        spans.append((begin, end))
    return spans


def goodput_gbps(visits: list[Visit], spans: list[tuple[float, float]]) -> float:
    """Returns the goodput in the spans, without the last kUnseen_s of each. 0 if nothing remains."""
    counted = [(begin, end - kUnseen_s) for begin, end in spans if end - begin > kUnseen_s]
    seconds = sum(end - begin for begin, end in counted)
    return sum(one.got(*span) for one in visits for span in counted) * 8e-9 / seconds if seconds > 0 else 0.0


def indices(found: list[Bin]) -> list[float]:
    return [jain(one.shares) for one in found]


def _events(visits: list[Visit]) -> list[float]:
    return sorted({one.joined_s for one in visits} | {one.left_s for one in visits})
