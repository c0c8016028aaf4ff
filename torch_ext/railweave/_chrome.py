"""Converts records to a Chrome trace, which Perfetto and chrome://tracing open."""

import socket
import time

from railweave._records import name_of, type_of

_STEPS, _PAIRS, _FIRST_LANE = 1, 2, 10  # row numbers


def boot():
    """Returns the kernel's boot id, which names the run of the kernel whose CLOCK_MONOTONIC this is."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def realtime_offset():
    """Returns the nanoseconds from CLOCK_MONOTONIC to CLOCK_REALTIME."""
    before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    return real - (before + after) // 2


def as_chrome(records, rank, world_size):
    """Returns the object to write as JSON. ``ts`` is in microseconds since ``baseTimeNanoseconds`` (CLOCK_REALTIME), as
    in torch's profiler; ``railweave`` has the data that merging needs."""
    offset = realtime_offset()
    begins = [each[0].begin for each in (records.operations, records.sent, records.received, records.waits,
                                         records.steps, records.in_flight) if each]
    base = min(begins, default=time.monotonic_ns())
    events = _Events(rank, base)
    events.process(f"rank {rank} of {world_size} on {socket.gethostname()}")
    events.add_steps(records)
    events.add_waits(records.waits)
    events.add_operations(records.operations)
    events.add_segments(records.sent, "out")
    events.add_segments(records.received, "in")
    events.add_in_flight(records.in_flight)
    return {"traceEvents": events.all, "displayTimeUnit": "ms", "baseTimeNanoseconds": base + offset,
            "railweave": {"rank": rank, "world_size": world_size, "boot": boot(), "dropped": records.dropped,
                          "monotonic_offset_ns": offset}}


class _Events:
    def __init__(self, rank, base):
        self.all = []
        self._rank, self._base = rank, base
        self._rows = {}

    def process(self, name):
        self._name_row("process_name", 0, name)

    def add_steps(self, records):
        for number, begin, end in records.spans_of_steps():
            self._span(_STEPS, "steps", f"step {number}", begin, end)

    def add_waits(self, waits):
        """Puts waits of several threads at one time on rows beside each other."""
        for number, wait in enumerate(waits):
            self._pair(f"w{self._rank}.{number}", "compute waits", name_of(wait.what), wait.begin, wait.end,
                       group=wait.group)

    def add_in_flight(self, most):
        for one in most:
            self.all.append({"ph": "C", "name": "live under the window",
                             "pid": self._rank, "ts": self._micros(one.begin),
                             "args": {"operations": one.operations, "MB": one.bytes / 1e6}})

    def add_operations(self, operations):
        """Puts operations that were in flight at one time on rows beside each other."""
        for number, one in enumerate(operations):
            self._pair(f"o{self._rank}.{number}", f"{one.priority}, {one.group}", name_of(one.what), one.begin, one.end,
                       bytes=one.bytes, type=type_of(one.what), held_us=(one.live - one.begin) / 1000)

    def add_segments(self, segments, way):
        """Puts segments one after the other on each lane. A lane may have taken a segment before the previous one was
        done."""
        done = {}
        for segment in sorted(segments, key=lambda one: one.end):
            row = f"{segment.rail} {way}, lane {segment.lane} of session {segment.key[0]:08x}"
            begin = max(segment.begin, done.get(row, 0))
            done[row] = segment.end
            self._span(None, row, name_of(segment.what), begin, segment.end, bytes=segment.bytes, key=[*segment.key],
                       way=way, taken=self._micros(segment.begin))

    def _pair(self, key, category, name, begin, end, **args):
        common = {"name": name, "cat": category, "id": key, "pid": self._rank, "tid": _PAIRS}
        self.all.append({**common, "ph": "b", "ts": self._micros(begin), "args": args})
        self.all.append({**common, "ph": "e", "ts": self._micros(end)})

    def _span(self, number, row, name, begin, end, **args):
        if row not in self._rows:
            self._rows[row] = number if number is not None else _FIRST_LANE + len(self._rows)
            self._name_row("thread_name", self._rows[row], row)
        self.all.append({"name": name, "cat": "railweave", "ph": "X", "ts": self._micros(begin),
                         "dur": (end - begin) / 1000, "pid": self._rank, "tid": self._rows[row], "args": args})

    def _micros(self, nanos):
        return (nanos - self._base) / 1000

    def _name_row(self, what, row, name):
        self.all.append({"name": what, "ph": "M", "pid": self._rank, "tid": row, "args": {"name": name}})
