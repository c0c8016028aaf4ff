"""Token buckets: where a NIC's shaper sits and what its parameters are.

`host`: on the NIC's own egress, in front of which the sender's kernel holds the queue (backpressure).
`switch`: on the switch's egress toward the NIC, with a 2 MiB buffer that drops its tail: what a real network looks like.
"""
from __future__ import annotations

from .iproute import CommandError, tc
from .plan import Host, Nic, Plan

kMinBurstBytes = 16 * 1024
kBurstSeconds = 0.001
kHostLatency = "50ms"
kLargestPacketBytes = 68 * 1024  # what segmentation offload hands down as one
kSwitchBufferBytes = 2 * 1024 * 1024
_SHAPED_ALREADY = ("File exists", "Exclusivity flag on")  # iproute2's words, where the kernel has none; the kernel's


def burst_bytes(rate_bps: int) -> int:
    """Size of the bucket: what passes unshaped after an idle time. Measuring programs send twice this before they time. After a
    change in mid-run it is kLargestPacketBytes at least."""
    return max(kMinBurstBytes, int(rate_bps / 8 * kBurstSeconds))


def tbf_args(rate_bps: int, shape: str, least_burst_bytes: int = 0) -> list[str]:
    queue = ["latency", kHostLatency] if shape == "host" else ["limit", str(kSwitchBufferBytes)]
    return ["tbf", "rate", f"{rate_bps}bit", "burst", str(max(burst_bytes(rate_bps), least_burst_bytes)), *queue]


def shaper_of(plan: Plan, host: Host, nic: Nic) -> tuple[str, str]:
    """Namespace and device that carry the NIC's shaper."""
    return (host.ns, nic.name) if plan.shape == "host" else (nic.peer_ns, nic.peer_dev)


def remove(ns: str, dev: str) -> None:
    """Lifts what shapes the device, if anything does."""
    try:
        tc(ns, "qdisc", "del", "dev", dev, "root")
    except CommandError:
        pass  # there was none


def set_rate(plan: Plan, host: Host, nic: Nic, rate_bps: int | None) -> None:
    """Shapes the NIC, also in mid-run (the queue is kept); None lifts the shaping. Raises CommandError."""
    ns, dev = shaper_of(plan, host, nic)
    if rate_bps is None:
        remove(ns, dev)
        return
    where = ["dev", dev, "root", "handle", "1:"]
    try:
        tc(ns, "qdisc", "add", *where, *tbf_args(rate_bps, plan.shape))
    except CommandError as error:
        if not any(said in str(error) for said in _SHAPED_ALREADY):
            raise
        # Packets that the old bucket let into the queue must fit the new one, or it is stuck for good.
        tc(ns, "qdisc", "change", *where, *tbf_args(rate_bps, plan.shape, kLargestPacketBytes))
