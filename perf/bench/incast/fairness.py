"""The bytes that arrived from each of many senders, second by second, and their evenness. Pure functions.

Times are seconds of CLOCK_MONOTONIC, which all ranks of one machine share."""
from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

_BIN_S = 1.0


@dataclass(frozen=True)
class Arrivals:
    """A receiver's total bytes at certain times, ascending."""

    at_s: list[float]
    total_bytes: list[int]

    def by(self, t: float) -> float:
        """Returns the bytes until `t`, interpolated between two times."""
        i = bisect_right(self.at_s, t)
        if i == 0 or i == len(self.at_s):
            return float(self.total_bytes[0 if i == 0 else -1])
        share = (t - self.at_s[i - 1]) / (self.at_s[i] - self.at_s[i - 1])
        return self.total_bytes[i - 1] + share * (self.total_bytes[i] - self.total_bytes[i - 1])


def arrivals(result: dict) -> Arrivals:
    """`result`: an entry of "results" in the JSON of net_perf or raw_tcp, of one direction from rank 0 to rank 1."""
    receiver = result["ranks"][1]
    zero_s, series = receiver["t0_monotonic_ns"] * 1e-9, receiver["series"]
    totals = [0]
    for count in series["received_bytes"]:
        totals.append(totals[-1] + count)
    return Arrivals([zero_s, *(zero_s + t for t in series["t_s"])], totals)


def bins(senders: list[Arrivals]) -> list[list[float]]:
    """Returns the bytes of each sender in each second in which all of them send."""
    begin, end = max(s.at_s[0] for s in senders), min(s.at_s[-1] for s in senders)
    edges = [begin + i * _BIN_S for i in range(int((end - begin) / _BIN_S) + 1)]
    return [[s.by(late) - s.by(early) for s in senders] for early, late in zip(edges, edges[1:])]


def jain(shares: list[float]) -> float:
    """Returns Jain's index: 1 if all are equal, 1/n if one has everything, 0 for no shares."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else 0.0


def gbps(found: list[list[float]]) -> float:
    return sum(map(sum, found)) * 8e-9 / (len(found) * _BIN_S) if found else 0.0
