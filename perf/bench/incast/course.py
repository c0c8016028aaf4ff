"""Each sender's rate over time and the even share, from sharing_perf's JSON. Pure functions.

Times are seconds since the first sender joined, rates Mb/s."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """One sending process. A sender that left and came back has two lines."""

    sender: int
    at_s: list[float]  # middles of bins
    mbps: list[float]


@dataclass(frozen=True)
class Steps:
    edges_s: list[float]
    mbps: list[float]  # from each edge to the next


def lines(document: dict[str, Any]) -> list[Line]:
    """Returns the lines. Raises KeyError if the JSON is another program's or has no visits."""
    return [Line(one["sender"], [one["joined_s"] + (number + 0.5) * one["bin_s"] for number in range(len(one["mbps"]))],
                 one["mbps"])
            for one in document["series"]["visits"]]


def even_share(document: dict[str, Any]) -> Steps:
    """Returns the goodput while all send, divided by the number of present senders. Raises KeyError as lines() does."""
    visits, all_mbps = document["series"]["visits"], 1000 * document["summary"]["goodput_gbps"]
    edges = sorted({one[when] for one in visits for when in ("joined_s", "left_s")})
    sending = [sum(one["joined_s"] <= begin and one["left_s"] >= end for one in visits)
               for begin, end in zip(edges, edges[1:])]
    return Steps(edges, [all_mbps / max(1, count) for count in sending])
