"""Computes the figures of each step from its records. Intervals are pairs of nanoseconds."""

from bisect import bisect_right
from collections import defaultdict

from railweave._records import Records

# All four are starting points.
SLOW_SHARE = 0.1      # share of a step that waits for one rank to issue: above, this rank limits the step
COMPUTE_SHARE = 0.05  # exposed share of a step: below, compute limits
MEMORY_SHARE = 0.5    # share of the exposed time spent waiting for reduce-scatters' memory: above, memory limits
BUSY_SHARE = 0.9      # share of the exposed time in which the busiest rail carries data: above, rails limit


def union(intervals):
    """Returns the intervals merged and in order."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif end > begin:
            merged.append([begin, end])
    return merged


def within(intervals, begin, end):
    return [(max(a, begin), min(b, end)) for a, b in intervals if a < end and b > begin]


def length(intervals):
    return sum(end - begin for begin, end in union(intervals))


def overlap_of(some, others):
    """Returns the nanoseconds in which both last."""
    total, i, j = 0, 0, 0
    some, others = union(some), union(others)
    while i < len(some) and j < len(others):
        total += max(0, min(some[i][1], others[j][1]) - max(some[i][0], others[j][0]))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return total


def most_at_once(operations, begin, end, of):
    """Returns the greatest sum of `of(operation)` over operations that were live at one moment between `begin` and
    `end`."""
    live = [one for one in operations if one.live < end and one.end > begin]
    changes = sorted([(one.live, of(one)) for one in live] + [(one.end, -of(one)) for one in live])
    changes = [(when, change) for when, change in changes if when < end]
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def steps_of(records):
    """Returns (number, begin, end) of each step; without marks the whole trace is one step."""
    if records.steps:
        return records.spans_of_steps()
    times = [(each.begin, each.end) for each in (*records.operations, *records.waits)]
    return [(0, min(t[0] for t in times), max(t[1] for t in times))] if times else []


def by_step(records, steps):
    """Returns the records of each of `steps`. A record that spans several steps is in each of them."""
    ends = [end for _, _, end in steps]
    parts = [Records() for _ in steps]
    for kind in ("operations", "sent", "received", "waits", "in_flight"):
        for one in getattr(records, kind):
            n = bisect_right(ends, one.begin)
            while n < len(steps) and steps[n][1] < one.end:
                getattr(parts[n], kind).append(one)
                n += 1
    return parts


def figures(records, begin, end):
    """Returns the figures of one step at one rank; times are in seconds. `records`: of the step, as by_step() returns
    them."""
    waits = within([(one.begin, one.end) for one in records.waits], begin, end)
    operations = records.operations
    under_way = [(one.begin, one.end) for one in operations]
    live = length(within(under_way, begin, end))
    exposed = length(waits)
    return {
        "step_s": (end - begin) / 1e9,
        "compute_s": (end - begin - exposed) / 1e9,
        "exposed_s": exposed / 1e9,
        "overlap_efficiency": 1 - overlap_of(waits, under_way) / live if live else 1.0,
        "operations": len(operations),
        **_in_flight(records, begin, end),
        "rails": _rails(records, waits, begin, end),
    }


def _in_flight(records, begin, end):
    """Returns the most in flight at once. Under a window the scheduler's counts are used, because they leave out held
    operations."""
    if records.in_flight:
        return {"in_flight_bytes": max(one.bytes for one in records.in_flight),
                "in_flight_operations": max(one.operations for one in records.in_flight)}
    return {"in_flight_bytes": most_at_once(records.operations, begin, end, lambda one: one.bytes),
            "in_flight_operations": most_at_once(records.operations, begin, end, lambda one: 1)}


def _rails(records, waits, begin, end):
    rails = defaultdict(lambda: {"out_bytes": 0, "in_bytes": 0})
    busy = defaultdict(list)
    for way, segments in (("out", records.sent), ("in", records.received)):
        for one in segments:
            if begin <= one.end < end:
                rails[one.rail][f"{way}_bytes"] += one.bytes
            busy[one.rail].append((one.begin, one.end))
    for name, rail in rails.items():
        for way in ("out", "in"):
            rail[f"{way}_gbps"] = rail[f"{way}_bytes"] * 8 / (end - begin)
        rail["busy_while_exposed"] = overlap_of(within(busy[name], begin, end), waits) / (length(waits) or 1)
    return dict(sorted(rails.items()))


def waited_for(waits, issues, rank, begin, end):
    """Returns nanoseconds of this rank's waits, within the step, before the last rank issued the operation, by that
    last rank. `issues`: by operation (group, priority, what), {rank: time of issue} by this rank's clock."""
    lost = defaultdict(list)
    for wait in waits:
        by_rank = issues.get((wait.group, wait.priority, wait.what), {})
        if len(by_rank) < 2:
            continue
        last = max(by_rank, key=by_rank.get)
        if last != rank and by_rank[last] > wait.begin:
            lost[last].append((wait.begin, min(wait.end, by_rank[last])))
    return {other: length(within(intervals, begin, end)) for other, intervals in lost.items()}


def memory_waits(records, begin, end, name_of):
    """Returns the nanoseconds of waits for reduce-scatters before the step's last reduce-scatter was issued. Such waits
    are for memory."""
    scatters = [one.begin for one in records.operations
                if begin <= one.begin < end and name_of(one.what).startswith("reduce_scatter")]
    last = max(scatters, default=0)
    return length((w.begin, min(w.end, last)) for w in records.waits
                  if begin <= w.begin < last and name_of(w.what).startswith("reduce_scatter"))


def limit_of(step, lost, memory_ns):
    """Returns what limits the step: the first condition that holds. `lost`: as waited_for() returns it."""
    slowest = max(lost, key=lost.get, default=None)
    if slowest is not None and lost[slowest] > SLOW_SHARE * step["step_s"] * 1e9:
        return f"rank {slowest}"
    if step["exposed_s"] < COMPUTE_SHARE * step["step_s"]:
        return "compute"
    if memory_ns > MEMORY_SHARE * step["exposed_s"] * 1e9:
        return "memory"
    busy = {name: rail["busy_while_exposed"] for name, rail in step["rails"].items() if name != "shm"}
    if not busy:
        return "host"
    return "rails" if max(busy.values()) > BUSY_SHARE else "latency"
