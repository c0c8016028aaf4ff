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


def burst_bytes(rate_bps: int) -> int:
    """Size of the bucket: what passes unshaped after an idle time. Measuring programs send twice this before they time."""
    return max(kMinBurstBytes, int(rate_bps / 8 * kBurstSeconds))


def tbf_args(rate_bps: int, shape: str, least_burst_bytes: int = 0) -> list[str]:
    queue = ["latency", kHostLatency] if shape == "host" else ["limit", str(kSwitchBufferBytes)]
    return ["tbf", "rate", f"{rate_bps}bit", "burst", str(max(burst_bytes(rate_bps), least_burst_bytes)), *queue]


def shaper_of(plan: Plan, host: Host, nic: Nic) -> tuple[str, str]:
    """Namespace and device that carry the NIC's shaper."""
    return (host.ns, nic.name) if plan.shape == "host" else (nic.peer_ns, nic.peer_dev)


def _remove(ns: str, dev: str) -> None:
    try:
        tc(ns, "qdisc", "del", "dev", dev, "root")
    except CommandError:
        pass  # there was none


def set_rate(plan: Plan, host: Host, nic: Nic, rate_bps: int | None) -> None:
    """Shapes the NIC, also in mid-run (the queue is kept); None lifts the shaping. Raises CommandError."""
    ns, dev = shaper_of(plan, host, nic)
    if rate_bps is None:
        _remove(ns, dev)
        return
    where = ["dev", dev, "root", "handle", "1:"]
    try:
        tc(ns, "qdisc", "add", *where, *tbf_args(rate_bps, plan.shape))
    except CommandError:
        # Shaped already. Packets that the old bucket let into the queue must fit the new one, or it is stuck for good.
        tc(ns, "qdisc", "change", *where, *tbf_args(rate_bps, plan.shape, kLargestPacketBytes))


def cut(host: Host, nic: Nic) -> None:
    """Drops every packet of the NIC in both directions while its carrier stays up. Raises CommandError."""
    for ns, dev in ((host.ns, nic.name), (nic.peer_ns, nic.peer_dev)):
        _remove(ns, dev)
        # A bucket smaller than any packet: tbf drops what can never fit.
        tc(ns, "qdisc", "add", "dev", dev, "root", "handle", "1:", "tbf", "rate", "8kbit", "burst", "1", "limit", "1")


def restore(plan: Plan, host: Host, nic: Nic) -> None:
    """Undoes cut() at both ends of the NIC's cable; the rates are the plan's. Raises CommandError."""
    for ns, dev in ((host.ns, nic.name), (nic.peer_ns, nic.peer_dev)):
        _remove(ns, dev)
    for other in plan.hosts:
        for end in other.nics:
            if (other.ns, end.name) in ((host.ns, nic.name), (nic.peer_ns, nic.peer_dev)):
                set_rate(plan, other, end, end.rate_bps)
