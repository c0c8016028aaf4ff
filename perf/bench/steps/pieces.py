"""The parts of a step: the collectives that FSDP calls and the compute between them, as a trace for fsdp_replay
(docs/guide/replay.md)."""
from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

GATHER, REDUCE = "all_gather_single", "reduce_scatter_single"  # torch's names


@dataclass(frozen=True)
class Call:
    name: str
    whole_bytes: int  # of the tensor with all ranks' parts
    at_s: float


@dataclass
class Recorded:
    """Times are in seconds since the step began."""

    calls: list[Call]
    backward_s: float
    seconds: float


def _layers(step: Recorded) -> list[dict[str, Any]]:
    """Returns the units in the order of forward. The last unit's forward includes the code after the layers, the first
    unit's forward the code before them."""
    gathers = [call for call in step.calls if call.name == GATHER and call.at_s < step.backward_s]
    reduces = [call for call in step.calls if call.name == REDUCE]
    if len(gathers) != len(reduces):
        raise ValueError(f"{len(gathers)} units gathered in forward, {len(reduces)} reduced in backward: "
                         "expected as many")
    begins = [0.0, *(call.at_s for call in gathers[1:]), step.backward_s]
    kept = _kept(gathers, [call for call in step.calls if call.name == GATHER and call.at_s >= step.backward_s])
    ends = [step.backward_s, *(call.at_s for call in reduces)]
    backward = [end - begin for begin, end in zip(ends, ends[1:])][::-1]
    return [{"name": f"unit{i}", "gather_bytes": gather.whole_bytes, "reduce_bytes": reduce.whole_bytes,
             "kept": kept[i], "forward_s": begins[i + 1] - begins[i], "backward_s": backward[i]}
            for i, (gather, reduce) in enumerate(zip(gathers, reduces[::-1]))]


def _kept(forward: list[Call], backward: list[Call]) -> list[bool]:
    """Returns for each unit whether it was not gathered again. Among units of equal bytes, assigns gathers to the last
    units first."""
    left, kept = list(backward), [True] * len(forward)
    for unit in reversed(range(len(forward))):
        if left and left[0].whole_bytes == forward[unit].whole_bytes:
            left.pop(0)
            kept[unit] = False
    if left:
        raise ValueError(f"{len(backward)} all-gathers in backward, of which {len(left)} are nobody's of forward")
    return kept


def trace_of(steps: list[Recorded]) -> dict[str, Any]:
    """Returns fsdp_replay's trace, each piece the median over the steps. Raises ValueError if units are not reduced as
    they are gathered."""
    by_step = [_layers(step) for step in steps]
    layers = [{**same[0], **{piece: median(layer[piece] for layer in same) for piece in ("forward_s", "backward_s")}}
              for same in zip(*by_step)]
    tail = median(step.seconds - max(call.at_s for call in step.calls) for step in steps)
    return {"schema": 1, "name": "recorded", "optimizer_s": tail, "layers": layers}


_KEPT_UNITS = 2  # railweave.fsdp.overlap's prefetch


def as_overlapped(trace: dict[str, Any]) -> dict[str, Any]:
    """Returns the same trace with the last units gathered in forward only, as railweave.fsdp does."""
    layers = trace["layers"]
    return {**trace, "layers": [{**layer, "kept": layer["kept"] or at >= len(layers) - _KEPT_UNITS}
                                for at, layer in enumerate(layers)]}


def bytes_each_way(calls: list[Call], ranks: int) -> float:
    """Returns the bytes that a rank must send, and receive."""
    return sum(call.whole_bytes for call in calls) * (ranks - 1) / ranks
