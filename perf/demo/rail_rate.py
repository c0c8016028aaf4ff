"""Computes the rate of rails from the wanted time of a step's communication."""
from __future__ import annotations

_PAYLOAD_SHARE = 0.956  # of a rail's rate: reached by raw TCP on one rail


def rail_mbit(each_way_bytes: float, seconds: float, rails: int) -> int:
    """Returns Mb/s of each of `rails` rails that together carry `each_way_bytes` each way in `seconds`."""
    return round(each_way_bytes * 8e-6 / seconds / rails / _PAYLOAD_SHARE)
