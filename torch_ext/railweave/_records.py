"""What a trace recorded, as plugin/base/trace.h has it: operations, segments, waits, steps, what was in flight. Times:
nanoseconds of CLOCK_MONOTONIC."""

import struct
import time
from collections import namedtuple

from railweave import _C

_RECORD = struct.Struct("=qqQQQIHBB")  # trace::Record
_KINDS = {1: "operations", 2: "sent", 3: "received", 4: "waits", 5: "steps", 6: "in_flight"}
_PRIORITIES = ("urgent", "normal", "bulk")

# `what` names an operation among those of its group and priority; `group` is the group's name, the same on its ranks.
# `live`: when it might move bytes first.
Operation = namedtuple("Operation", "begin end what bytes live group priority")
# `key`: session, lane and number of its frame, the same at both ends.
Segment = namedtuple("Segment", "begin end what bytes rail lane key")
Wait = namedtuple("Wait", "begin end what group priority")
Step = namedtuple("Step", "begin number")
# What a window let be live at once, at most, since the one before.
InFlight = namedtuple("InFlight", "begin end bytes operations")


class Records:
    """`operations`, `sent`, `received`, `waits`, `steps`, `in_flight`, each in the order in which they began;
    `dropped`: how many found no room; `end`: when the trace ended."""

    def __init__(self, data=b"", names=(), dropped=0, end=0):
        self.dropped, self.end = dropped, end
        self.operations, self.sent, self.received, self.waits, self.steps, self.in_flight = [], [], [], [], [], []
        for begin, end, what, size, detail, whose, rail, priority, kind in _RECORD.iter_unpack(data):
            name = _KINDS[kind]
            to = getattr(self, name)
            if name == "operations":
                to.append(Operation(begin, end, what, size, detail or end, names[whose], _PRIORITIES[priority]))
            elif name in ("sent", "received"):
                to.append(Segment(begin, end, what, size, names[rail], detail >> 32, (whose, detail)))
            elif name == "waits":
                to.append(Wait(begin, end, what, names[whose] if what else "", _PRIORITIES[priority]))
            elif name == "in_flight":
                to.append(InFlight(begin, end, size, detail))
            else:
                to.append(Step(begin, what))
        for each in (self.operations, self.sent, self.received, self.waits, self.steps, self.in_flight):
            each.sort()

    def spans_of_steps(self):
        """(number, begin, end) of each marked step. The trace's end ends the last one, which is none where nothing was
        called after its mark (then the marks are where steps end), nor where the trace had no room (later marks may be
        among what it dropped)."""
        spans = [(one.number, one.begin, following.begin) for one, following in zip(self.steps, self.steps[1:])]
        if self.steps and not self.dropped and any(each[-1].begin >= self.steps[-1].begin
                                                   for each in (self.operations, self.waits) if each):
            spans.append((self.steps[-1].number, self.steps[-1].begin, max(self.steps[-1].begin, self.end)))
        return spans


def take():
    """Ends the trace that _C._trace_start began; what Records() is made of."""
    end = time.monotonic_ns()
    return (*_C._trace_stop(), end)


def name_of(what):
    """Of the operation with this fingerprint (collectives/group/fingerprint.h): ``all_gather 12``; ``message`` of send
    and recv, and of what was issued before the trace began."""
    kind = (what & 0xF) - 1
    if not 0 <= kind < len(_C._operation_names):
        return "message"
    return f"{_C._operation_names[kind]} {what >> 44}"


def type_of(what):
    """``float32``; empty where there is none."""
    if name_of(what) == "message" or _C._operation_names[(what & 0xF) - 1] == "barrier":
        return ""
    return _C._type_names[what >> 4 & 0x1F]
