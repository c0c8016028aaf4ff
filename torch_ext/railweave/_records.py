"""Records of a trace, in the format of plugin/base/trace.h: operations, segments, waits, steps, and operations in
flight. Times are nanoseconds of CLOCK_MONOTONIC."""

import struct
import time
from collections import namedtuple

from railweave._extension import _C

_RECORD = struct.Struct("=qqQQQIHBB")  # trace::Record
_KINDS = {1: "operations", 2: "sent", 3: "received", 4: "waits", 5: "steps", 6: "in_flight"}
_PRIORITIES = ("urgent", "normal", "bulk")

# `what` identifies an operation within its group and priority; `group` is the group's name, the same on its ranks.
# `live`: time from which the operation was allowed to move bytes.
Operation = namedtuple("Operation", "begin end what bytes live group priority")
# `key`: session, lane and number of the segment's frame, the same at both ends.
Segment = namedtuple("Segment", "begin end what bytes rail lane key")
Wait = namedtuple("Wait", "begin end what group priority")
Step = namedtuple("Step", "begin number")
# The most that was live at once under a window, since the previous record.
InFlight = namedtuple("InFlight", "begin end bytes operations")


class Records:
    """`operations`, `sent`, `received`, `waits`, `steps`, `in_flight`: each in order of begin. `dropped`: number of
    records that found no room. `end`: time of the trace's end."""

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
        """Returns (number, begin, end) of each marked step. The trace's end ends the last step. The last mark begins no
        step if nothing was called after it (marks then show where steps end), or if the trace dropped records (later
        marks may be among them)."""
        spans = [(one.number, one.begin, following.begin) for one, following in zip(self.steps, self.steps[1:])]
        if self.steps and not self.dropped and any(each[-1].begin >= self.steps[-1].begin
                                                   for each in (self.operations, self.waits) if each):
            spans.append((self.steps[-1].number, self.steps[-1].begin, max(self.steps[-1].begin, self.end)))
        return spans


def take():
    """Ends the trace that _C._trace_start began; returns the arguments for Records()."""
    end = time.monotonic_ns()
    return (*_C._trace_stop(), end)


def name_of(what):
    """Names the operation of this fingerprint (collectives/group/fingerprint.h), such as ``all_gather 12``.
    ``message``: send, recv, or an operation issued before the trace began."""
    kind = (what & 0xF) - 1
    if not 0 <= kind < len(_C._operation_names):
        return "message"
    return f"{_C._operation_names[kind]} {what >> 44}"


def type_of(what):
    """Returns the element type, such as ``float32``; empty if there is none."""
    if name_of(what) == "message" or _C._operation_names[(what & 0xF) - 1] == "barrier":
        return ""
    return _C._type_names[what >> 4 & 0x1F]
