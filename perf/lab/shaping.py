"""Token buckets: the place and the parameters of a NIC's shaper.

`host`: on the NIC's own egress; the sender's kernel holds the queue (backpressure). `switch`: on the switch's egress
toward the NIC, with a tail-drop buffer, as in a real network. `both`: both. With `host` alone a NIC may receive more
than its rate if its switch has ports to several peers."""
from __future__ import annotations

from .iproute import CommandError, tc
from .plan import Nic, Plan

kMinBurstBytes = 16 * 1024
kBurstSeconds = 0.001
kHostLatency = "50ms"
kLargestPacketBytes = 68 * 1024  # largest packet of segmentation offload
_SHAPED_ALREADY = ("File exists", "Exclusivity flag on")  # iproute2's words if the kernel has none; the kernel's


def burst_bytes(rate_bps: int) -> int:
    """Returns the size of the bucket: bytes that pass unshaped after an idle time. Measuring programs send twice this
    before they take times. After a change in mid-run the bucket has at least kLargestPacketBytes."""
    return max(kMinBurstBytes, int(rate_bps / 8 * kBurstSeconds))


def tbf_args(rate_bps: int, queue: list[str], least_burst_bytes: int = 0) -> list[str]:
    """Returns words for `tc`. `queue` is one of shapers_of()'s."""
    return ["tbf", "rate", f"{rate_bps}bit", "burst", str(max(burst_bytes(rate_bps), least_burst_bytes)), *queue]


def shapers_of(plan: Plan, nic: Nic) -> list[tuple[str, str, list[str]]]:
    """Returns namespace, device and queue limit of each of the NIC's shapers."""
    host = (nic.carrier_ns, nic.carrier_dev, ["latency", kHostLatency])
    port = (nic.peer_ns, nic.peer_dev, ["limit", str(plan.buffer_bytes)])
    return {"host": [host], "switch": [port], "both": [host, port]}[plan.shape]


def remove(ns: str, dev: str) -> None:
    """Removes the device's shaper, if any."""
    try:
        tc(ns, "qdisc", "del", "dev", dev, "root")
    except CommandError:
        pass  # no shaper


def set_rate(plan: Plan, nic: Nic, rate_bps: int | None) -> None:
    """Shapes the NIC, also in mid-run; the queue is kept. None removes the shaping. Raises CommandError."""
    for ns, dev, queue in shapers_of(plan, nic):
        if rate_bps is None:
            remove(ns, dev)
        else:
            _set(ns, dev, rate_bps, queue)


def restore(plan: Plan, places: set[tuple[str, str]]) -> None:
    """Restores the plan's shapers on these devices and removes all others. Raises CommandError."""
    for ns, dev in places:
        remove(ns, dev)
    for nic in plan.nics():
        for ns, dev, queue in shapers_of(plan, nic):
            if (ns, dev) in places and nic.rate_bps is not None:
                _set(ns, dev, nic.rate_bps, queue)


def _set(ns: str, dev: str, rate_bps: int, queue: list[str]) -> None:
    where = ["dev", dev, "root", "handle", "1:"]
    try:
        tc(ns, "qdisc", "add", *where, *tbf_args(rate_bps, queue))
    except CommandError as error:
        if not any(said in str(error) for said in _SHAPED_ALREADY):
            raise
        # Packets that the old bucket let into the queue must fit the new one. Otherwise the queue is stuck for good.
        tc(ns, "qdisc", "change", *where, *tbf_args(rate_bps, queue, kLargestPacketBytes))
