"""Puts traces of all ranks, and of torch's profiler, on one clock, and draws a step.

    python -m railweave.timeline merge trace-*.json profile-*.json -o all.json     # open it in Perfetto
    python -m railweave.timeline plot trace-*.json -o step.png [--step N]
"""

import argparse
import json
import sys
from collections import deque
from pathlib import Path

from railweave._figures import union, within
from railweave._output import naming

_WAITS = "compute waits"  # the row of those
_FARTHEST = 1e18  # microseconds: what is beyond is no time
_NUMBER = int | float
# What events of ours have, by their ph, as far as it is read here.
_OURS = {"X": {"name": str, "pid": int, "tid": int, "ts": _NUMBER, "dur": _NUMBER}, "b": {"name": str, "cat": str, "id": str, "pid": int, "ts": _NUMBER},
         "e": {"id": str, "pid": int, "ts": _NUMBER}, "M": {"name": str, "tid": int, "args": dict}}


def _check(what, kinds):
    """Raises KeyError, ValueError for what is missing or no such kind."""
    for key, kind in kinds.items():
        if not isinstance(what[key], kind) or kind is _NUMBER and not abs(what[key]) < _FARTHEST:
            raise ValueError(f"{key}: {what[key]!r}"[:80])


class _Trace:
    """One file. `shift`: nanoseconds from its times to the first trace's CLOCK_MONOTONIC; None: not known."""

    def __init__(self, path, number):
        self._number = number
        self.path, self.shift, self.error_ns = path, None, 0
        try:
            with open(path, encoding="utf-8") as file:
                self._read(json.load(file))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            found = f"{type(error).__name__}: {error}"
            raise ValueError(f"{path}: expected a Chrome trace (a JSON object with traceEvents), found {found}") from None

    def _read(self, whole):
        self.events = whole["traceEvents"]
        self.own = whole.get("railweave")
        self.base = whole.get("baseTimeNanoseconds", 0)
        self.rank = self.own["rank"] if self.own else whole.get("distributedInfo", {}).get("rank")
        self.started = {"out": {}, "in": {}}
        _check({"baseTimeNanoseconds": self.base, "rank": self.rank}, {"baseTimeNanoseconds": int | float, "rank": int | None})
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
        """Of ts 0."""
        return self.base - self.own["monotonic_offset_ns"]

    def events_from(self, delta):
        """With `delta` microseconds added to their times. A profile's processes and ids are told apart from those of other files."""
        for event in self.events:
            event = {**event, "ts": event["ts"] + delta} if "ts" in event else dict(event)
            if not self.own:
                event["pid"] = f"rank {self.rank}: {event.get('pid', '')}"
                if "id" in event:
                    event["id"] = f"{self._number}.{event['id']}"
            yield event


def _soonest(sent, received):
    """The least time from a segment's begin at its sender to that at its receiver, each by its own clock."""
    return min((received[key] - when for key, when in sent.items() if key in received), default=None)


def _clock_between(one, other):
    """What to add to `other`'s times for `one`'s, and how wrong that may be; None where they exchanged nothing both ways. A segment
    cannot arrive before it was sent: that bounds it from both sides, and the middle is as NTP's."""
    if one.own["boot"] == other.own["boot"]:
        return 0, 0
    there = _soonest(one.started["out"], other.started["in"])
    back = _soonest(other.started["out"], one.started["in"])
    if there is None or back is None:
        return None
    return (back - there) // 2, abs(there + back) // 2


def align(traces):
    """Sets `shift` and `error_ns` of all that can be reached from the first of ours."""
    ours = [trace for trace in traces if trace.own]
    if not ours:
        raise ValueError("expected a trace of railweave's among the files (railweave.trace, RAILWEAVE_TRACE)")
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
    """The Chrome trace of all files on the first one's clock. Raises OSError, ValueError naming the file."""
    traces = [_Trace(path, number) for number, path in enumerate(paths)]
    first = align(traces)
    events = []
    for trace in traces:
        if trace.shift is None:
            raise ValueError(f"{trace.path}: no way to align its clock: it and the others have no segments of each other "
                             "both ways" if trace.own else f"{trace.path}: no trace of railweave's is of its rank ({trace.rank})")
        start = trace.monotonic if trace.own else trace.base
        delta = (start + trace.shift - first.monotonic) / 1000
        events += trace.events_from(delta)
    clocks = {str(trace.rank): trace.error_ns / 1e9 for trace in traces if trace.own}
    return {"traceEvents": events, "displayTimeUnit": "ms", "baseTimeNanoseconds": first.base, "clock_error_s": clocks}


def _steps(events, rank):
    return {event["name"]: (event["ts"], event["ts"] + event["dur"]) for event in events
            if event["pid"] == rank and event["ph"] == "X" and event["name"].startswith("step ")}


def plot(whole, path, step, source):
    """Draws one step of all ranks as a PNG. `source`: what the title says the traces are. Raises ImportError without matplotlib,
    ValueError for a step that is not there."""
    try:
        import matplotlib
    except ImportError as missing:
        raise ImportError(f"plot needs matplotlib (pip install matplotlib): {missing}") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    events = [e for e in whole["traceEvents"] if isinstance(e.get("pid"), int) and e.get("ph") in ("X", "b", "e", "M")]  # ours
    ranks = sorted({e["pid"] for e in events if "ts" in e})
    if not ranks:
        raise ValueError("plot: found traces without any operation")
    steps = _steps(events, ranks[0])
    name = f"step {step}" if step is not None else next(iter(list(steps)[len(steps) // 2:]), None)
    if name is not None and name not in steps:
        raise ValueError(f"--step: found {step}, expected one of {', '.join(one[5:] for one in steps) or 'none: no step is marked'}")
    begin, end = steps[name] if steps else (min(e["ts"] for e in events if "ts" in e), max(e["ts"] for e in events if "ts" in e))

    bars = {rank: _bars([e for e in events if e["pid"] == rank], begin, end) for rank in ranks}
    # The same rows for every rank, as high as the rank with the most at once needs them.
    rows = {row: max(len(of_rank[row]) for of_rank in bars.values() if row in of_rank)
            for row in sorted({row for of_rank in bars.values() for row in of_rank}, key=_order)}
    height = sum(map(_height, rows.values()))
    figure, grid = plt.subplots(len(ranks), 1, figsize=(12, 1.1 + (0.45 + 0.34 * height) * len(ranks)), sharex=True, squeeze=False,
                                layout="constrained")
    for axes, rank in zip(grid[:, 0], ranks):
        _draw(axes, bars[rank], rows)
        waited = sum(length for _, length in bars[rank][_WAITS][0])
        axes.set_title(f"rank {rank}: compute waits for {waited:.1f} ms", fontsize=10, loc="left")
    grid[-1, 0].set_xlim(0, (end - begin) / 1000)
    grid[-1, 0].set_xlabel(f"milliseconds since {name or 'the trace'} began")
    figure.suptitle(f"{name or 'all'} of {source}: {(end - begin) / 1000:.1f} ms", fontsize=12, x=0.01, ha="left", fontweight="bold")
    with naming(path):
        figure.savefig(path, dpi=140, format=Path(path).suffix[1:] or "png")  # else what has no suffix goes to another file
    plt.close(figure)


def _bars(events, begin, end):
    """By row, from `begin` to `end`: its lines of bars (when, how long; milliseconds). Operations that were on their way at once are on
    lines beside each other; of waits and of a rail's lanes it is shown whether there was any."""
    named = {e["tid"]: e["args"]["name"].split(",")[0] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    together, apart = {_WAITS: []}, {}
    open_operations = {}
    for event in events:
        if event["ph"] == "b":
            open_operations[event["id"]] = event
        elif event["ph"] == "e" and (began := open_operations.pop(event["id"], None)):
            spans = together[_WAITS] if began["cat"] == _WAITS else apart.setdefault(began["name"].rsplit(" ", 1)[0], [])
            spans.append((began["ts"], event["ts"]))
        elif event["ph"] == "X" and named.get(event["tid"], "steps") != "steps":
            together.setdefault(named[event["tid"]], []).append((event["ts"], event["ts"] + event["dur"]))
    lines = {row: [union(within(spans, begin, end))] for row, spans in together.items()}
    lines |= {row: _beside(within(spans, begin, end)) for row, spans in apart.items()}
    return {row: [[((a - begin) / 1000, (b - a) / 1000) for a, b in line] for line in each] for row, each in lines.items()}


def _beside(intervals):
    """Lines of intervals that do not overlap; one at least."""
    lines = [[]]
    for one in sorted(intervals):
        free = next((line for line in lines if not line or line[-1][1] <= one[0]), None)
        if free is None:
            lines.append(free := [])
        free.append(one)
    return lines


def _order(row):
    """Waits, then operations, then rails by name."""
    return row != _WAITS, " " in row, row


def _height(lines):
    """Of a row, in rows of few lines."""
    return max(1.0, 0.25 * lines)


def _draw(axes, bars, rows):
    """`rows`: how many lines each has, from the top."""
    top, middles = 0.0, []
    for row, lines in rows.items():
        high = _height(lines)
        colour = "#bbbbbb" if row == _WAITS else "#e08a2c" if " " in row else "#2f6fb0"
        edges = {"edgecolor": "white", "linewidth": 0.4} if lines > 1 else {}
        for number, line in enumerate(bars.get(row, [])):
            axes.broken_barh(line, (top + high * (0.1 + 0.8 * number / lines), 0.8 * high / lines), color=colour, **edges)
        middles.append(top + high / 2)
        top += high
    axes.set_yticks(middles, rows, fontsize=8)
    axes.set_ylim(top, 0)
    axes.spines[["top", "right"]].set_visible(False)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m railweave.timeline", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, what in (("merge", "one Chrome trace of all files"), ("plot", "a PNG of one step")):
        one = commands.add_parser(command, help=what)
        one.add_argument("files", nargs="+", metavar="TRACE", help="what railweave.trace or torch's profiler wrote")
        one.add_argument("-o", "--output", required=True, metavar="FILE")
        if command == "plot":
            one.add_argument("--step", type=int, metavar="N", help="which (the one in the middle)")
    chosen = parser.parse_args(arguments)
    try:
        whole = merged(chosen.files)
        if chosen.command == "plot":
            more = f" and {len(chosen.files) - 1} more" if len(chosen.files) > 1 else ""
            plot(whole, chosen.output, chosen.step, f"{Path(chosen.files[0]).name}{more}")
        else:
            with naming(chosen.output), open(chosen.output, "w", encoding="utf-8") as file:
                json.dump(whole, file)
    except (OSError, ValueError, ImportError) as error:
        print(f"railweave.timeline: {error}", file=sys.stderr)
        return 1
    for rank, seconds in whole["clock_error_s"].items():
        if seconds > 0:
            print(f"rank {rank}: its clock is known to {seconds * 1e6:.0f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
