"""Puts traces of all ranks, and of torch's profiler, on one clock: the first trace's. Files are not trusted: an error
names the field that is missing or of another type."""

import json
import warnings
from collections import deque

_FARTHEST = 1e18  # microseconds; a larger value is no time
_NUMBER = int | float
# Fields of our events that this module reads, by `ph`.
_OURS = {"X": {"name": str, "pid": int, "tid": int, "ts": _NUMBER, "dur": _NUMBER},
         "b": {"name": str, "cat": str, "id": str, "pid": int, "ts": _NUMBER},
         "e": {"id": str, "pid": int, "ts": _NUMBER}, "M": {"name": str, "tid": int, "args": dict}}


def _check(what, kinds):
    """Raises KeyError for a missing field, ValueError for a field of another type."""
    for key, kind in kinds.items():
        if not isinstance(what[key], kind) or kind is _NUMBER and not abs(what[key]) < _FARTHEST:
            raise ValueError(f"{key}: {what[key]!r}"[:80])


class _Trace:
    """One file. `shift`: nanoseconds from its times to the first trace's CLOCK_MONOTONIC; None: unknown."""

    def __init__(self, path, number):
        self._number = number
        self.path, self.shift, self.error_ns = path, None, 0
        try:
            with open(path, encoding="utf-8") as file:
                self._read(json.load(file))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            found = f"{type(error).__name__}: {error}"
            raise ValueError(f"{path}: expected a Chrome trace (a JSON object with traceEvents), "
                             f"found {found}") from None

    def _read(self, whole):
        self.events = whole["traceEvents"]
        self.own = whole.get("railweave")
        self.base = whole.get("baseTimeNanoseconds", 0)
        self.rank = self.own["rank"] if self.own else whole.get("distributedInfo", {}).get("rank")
        self.started = {"out": {}, "in": {}}
        _check({"baseTimeNanoseconds": self.base, "rank": self.rank},
               {"baseTimeNanoseconds": int | float, "rank": int | None})
        if self.own:
            _check(self.own, {"rank": int, "boot": str, "monotonic_offset_ns": int | float})
        for event in self.events:
            if "ts" in event:
                _check(event, {"ts": _NUMBER})
        for event in self.events if self.own else ():
            _check(event, _OURS.get(event.get("ph"), {}))
            if key := event.get("args", {}).get("key"):
                when = event["args"]["taken"] if event["args"]["way"] == "out" else event["ts"]
                self.started[event["args"]["way"]][tuple(key)] = when * 1000 + self.monotonic

    @property
    def monotonic(self):
        """CLOCK_MONOTONIC of ts 0, in nanoseconds."""
        return self.base - self.own["monotonic_offset_ns"]

    def events_from(self, delta):
        """Yields the events with `delta` microseconds added to their times. Processes and ids of a profile get a prefix
        that differs from file to file."""
        for event in self.events:
            event = {**event, "ts": event["ts"] + delta} if "ts" in event else dict(event)
            if not self.own:
                event["pid"] = f"rank {self.rank}: {event.get('pid', '')}"
                if "id" in event:
                    event["id"] = f"{self._number}.{event['id']}"
            yield event


def _soonest(sent, received):
    """Returns the least time from a segment's begin at its sender to its begin at its receiver, each by its own clock.
    None: no segment is in both."""
    return min((received[key] - when for key, when in sent.items() if key in received), default=None)


def _clock_between(one, other):
    """Returns the nanoseconds to add to `other`'s times for `one`'s clock, and the possible error. None if the two did
    not exchange segments both ways. A segment cannot arrive before it was sent. This bounds the offset from both sides;
    the middle is taken, as in NTP."""
    if one.own["boot"] == other.own["boot"]:
        return 0, 0
    there = _soonest(one.started["out"], other.started["in"])
    back = _soonest(other.started["out"], one.started["in"])
    if there is None or back is None:
        return None
    room = there + back
    if room < 0:  # the bounds exclude each other: clocks may drift during a long trace
        warnings.warn(f"{one.path}, {other.path}: no clock offset fits: some segments would arrive {-room / 1e9:.6f} s "
                      "before they were sent", stacklevel=4)
    return (back - there) // 2, room // 2 if room >= 0 else -room


def align(traces):
    """Sets `shift` and `error_ns` of all traces that can be reached from the first of ours; returns that first
    trace."""
    ours = [trace for trace in traces if trace.own]
    if not ours:
        raise ValueError("expected a Railweave trace among the files (of railweave.trace or RAILWEAVE_TRACE)")
    ours[0].shift = 0
    waiting = deque(ours[:1])
    while waiting:
        known = waiting.popleft()
        for other in ours:
            between = _clock_between(known, other) if other.shift is None else None
            if between is not None:
                other.shift, other.error_ns = known.shift + between[0], known.error_ns + between[1]
                waiting.append(other)
    by_rank = {trace.rank: trace for trace in ours}
    for trace in traces:
        if not trace.own and (same := by_rank.get(trace.rank)) and same.shift is not None:
            trace.shift = same.shift - same.own["monotonic_offset_ns"]
    return ours[0]


def merged(paths):
    """Returns the Chrome trace of all files, on the first one's clock. Raises OSError or ValueError, which names the
    file."""
    traces = [_Trace(path, number) for number, path in enumerate(paths)]
    first = align(traces)
    events = []
    for trace in traces:
        if trace.shift is None:
            raise ValueError(f"{trace.path}: no clock to align: these traces exchanged no segments both ways"
                             if trace.own
                             else f"{trace.path}: no Railweave trace of rank {trace.rank} among the files")
        start = trace.monotonic if trace.own else trace.base
        delta = (start + trace.shift - first.monotonic) / 1000
        events += trace.events_from(delta)
    clocks = {str(trace.rank): trace.error_ns / 1e9 for trace in traces if trace.own}
    return {"traceEvents": events, "displayTimeUnit": "ms", "baseTimeNanoseconds": first.base, "clock_error_s": clocks}
