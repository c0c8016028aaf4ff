"""Finds in net_perf's JSON when a transfer recovered from a loss. Pure functions.

Times are seconds of CLOCK_MONOTONIC, which all ranks of one machine share."""
from __future__ import annotations

from dataclasses import dataclass
from statistics import median

_IN_A_ROW = 5  # bins
_SHARE = 0.95  # of raw TCP's rate on the remaining rail
_IN_USE = 0.1  # of the same rate, on the lost rail
_PAUSE = 2  # bins; bytes that miss one bin because messages ended a little later are in the next


@dataclass(frozen=True)
class Bin:
    begin_s: float
    end_s: float
    payload_bytes: int
    rail_bytes: dict[str, int]  # received by each rail

    def gbps(self, count: int) -> float:
        return count * 8e-9 / max(self.end_s - self.begin_s, 1e-9)


def bins(result: dict) -> list[Bin]:
    """Returns the receiver's bins. `result`: an entry of "results" of net_perf's JSON, one direction from rank 0 to
    rank 1."""
    receiver = result["ranks"][1]
    zero_s, series = receiver["t0_monotonic_ns"] * 1e-9, receiver["series"]
    ends = [zero_s + t for t in series["t_s"]]
    return [Bin(begin, end, payload, {rail: counts["rx_bytes"][i] for rail, counts in series["rails"].items()})
            for i, (begin, end, payload) in enumerate(zip([zero_s, *ends], ends, series["received_bytes"]))]


def recovered_s(found: list[Bin], lost_at_s: float, until_s: float, raw_gbps: float) -> float | None:
    """Returns the time from the loss to the first of five bins in a row with 0.95 of `raw_gbps`; None: not before
    `until_s`."""
    after = [b for b in found if b.begin_s >= lost_at_s and b.end_s <= until_s]
    good = [b.gbps(b.payload_bytes) >= _SHARE * raw_gbps for b in after]
    for i in range(len(after) - _IN_A_ROW + 1):
        if all(good[i:i + _IN_A_ROW]):
            return after[i].begin_s - lost_at_s
    return None


def usual_gbps(found: list[Bin], until_s: float) -> float:
    """Returns the median bin's rate before `until_s`. Raises ValueError if no bin ends before."""
    return median(b.gbps(b.payload_bytes) for b in found if b.end_s <= until_s)


def returned_s(found: list[Bin], rail: str, back_at_s: float, raw_gbps: float) -> float | None:
    """Returns the time from `back_at_s` to the first bin in which `rail` carries again; None: never."""
    for b in found:
        if b.begin_s >= back_at_s and b.gbps(b.rail_bytes.get(rail, 0)) >= _IN_USE * raw_gbps:
            return b.begin_s - back_at_s
    return None


def least_share(found: list[Bin], from_s: float, until_s: float, raw_gbps: float) -> float | None:
    """Returns the least rate of two bins in a row, as a share of `raw_gbps`. The bin around `from_s` counts, the bin
    around `until_s` does not. A pause of a bin's length gives at most 0.5 if `raw_gbps` is carried before and after.
    None: fewer than two bins."""
    within = [b for b in found if b.end_s > from_s and b.end_s <= until_s]
    windows = [within[i:i + _PAUSE] for i in range(len(within) - _PAUSE + 1)]
    return min((sum(b.payload_bytes for b in w) * 8e-9 / (w[-1].end_s - w[0].begin_s) / raw_gbps for w in windows),
               default=None)


def mean_gbps(found: list[Bin], from_s: float, until_s: float) -> float:
    """Returns the payload's mean rate between two times, in seconds from the first bin's beginning. Raises ValueError
    if no bin is in between."""
    zero_s = found[0].begin_s
    counted = [b for b in found if b.begin_s >= zero_s + from_s and b.end_s <= zero_s + until_s]
    if not counted:
        raise ValueError(f"nothing was recorded between {from_s:g} and {until_s:g} s")
    return sum(b.payload_bytes for b in counted) * 8e-9 / (counted[-1].end_s - counted[0].begin_s)
