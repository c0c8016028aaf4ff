"""The rate of rails over which a step's communication takes so long as it shall."""
from __future__ import annotations

_PAYLOAD_SHARE = 0.956  # of a rail's rate: what raw TCP reaches on one


def rail_mbit(each_way_bytes: float, seconds: float, rails: int) -> int:
    """Mb/s of each of `rails` rails that carry `each_way_bytes` together, each way, in `seconds`."""
    return round(each_way_bytes * 8e-6 / seconds / rails / _PAYLOAD_SHARE)
