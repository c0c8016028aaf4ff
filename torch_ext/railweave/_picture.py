"""Draws a step of all ranks: waits, operations and rails over time."""

from pathlib import Path

from railweave._figures import union, within
from railweave._output import naming

_WAITS = "compute waits"  # name of the row of waits


def _steps(events, rank):
    return {event["name"]: (event["ts"], event["ts"] + event["dur"]) for event in events
            if event["pid"] == rank and event["ph"] == "X" and event["name"].startswith("step ")}


def plot(whole, path, step, source):
    """Draws one step of all ranks as a PNG. `source`: name of the traces, for the title. Raises ImportError without
    matplotlib, ValueError for a step that does not exist."""
    try:
        import matplotlib
    except ImportError as missing:
        raise ImportError(f"plot needs matplotlib (pip install matplotlib): {missing}") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # Events of ours, not of torch's profiler.
    events = [e for e in whole["traceEvents"] if isinstance(e.get("pid"), int) and e.get("ph") in ("X", "b", "e", "M")]
    ranks = sorted({e["pid"] for e in events if "ts" in e})
    if not ranks:
        raise ValueError("plot: found traces without any operation")
    steps = _steps(events, ranks[0])
    name = f"step {step}" if step is not None else next(iter(list(steps)[len(steps) // 2:]), None)
    if name is not None and name not in steps:
        raise ValueError(f"--step: found {step}, expected one of "
                         f"{', '.join(one[5:] for one in steps) or 'none: no step is marked'}")
    begin, end = steps[name] if steps else (min(e["ts"] for e in events if "ts" in e),
                                            max(e["ts"] for e in events if "ts" in e))

    bars = {rank: _bars([e for e in events if e["pid"] == rank], begin, end) for rank in ranks}
    # Every rank has the same rows, as high as the rank with the most lines needs them.
    rows = {row: max(len(of_rank[row]) for of_rank in bars.values() if row in of_rank)
            for row in sorted({row for of_rank in bars.values() for row in of_rank}, key=_order)}
    height = sum(map(_height, rows.values()))
    figure, grid = plt.subplots(len(ranks), 1, figsize=(12, 1.1 + (0.45 + 0.34 * height) * len(ranks)), sharex=True,
                                squeeze=False, layout="constrained")
    for axes, rank in zip(grid[:, 0], ranks):
        _draw(axes, bars[rank], rows)
        waited = sum(length for _, length in bars[rank][_WAITS][0])
        axes.set_title(f"rank {rank}: compute waits for {waited:.1f} ms", fontsize=10, loc="left")
    grid[-1, 0].set_xlim(0, (end - begin) / 1000)
    grid[-1, 0].set_xlabel(f"milliseconds since {name or 'the trace'} began")
    chosen = " (the middle one; --step N draws another)" if step is None and len(steps) > 1 else ""
    figure.suptitle(f"{name or 'all'}{chosen} of {source}: {(end - begin) / 1000:.1f} ms", fontsize=12, x=0.01,
                    ha="left", fontweight="bold")
    with naming(path):
        # Without a format, savefig() appends a suffix to a path that has none.
        figure.savefig(path, dpi=140, format=Path(path).suffix[1:] or "png")
    plt.close(figure)


def _bars(events, begin, end):
    """Returns, by row, the lines of bars from `begin` to `end`: (start, length) in milliseconds. Operations in flight
    at one time are on lines beside each other. Waits are merged into one line, and so are the lanes of a rail."""
    named = {e["tid"]: e["args"]["name"].split(",")[0] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    together, apart = {_WAITS: []}, {}
    open_operations = {}
    for event in events:
        if event["ph"] == "b":
            open_operations[event["id"]] = event
        elif event["ph"] == "e" and (began := open_operations.pop(event["id"], None)):
            spans = (together[_WAITS] if began["cat"] == _WAITS
                     else apart.setdefault(began["name"].rsplit(" ", 1)[0], []))
            spans.append((began["ts"], event["ts"]))
        elif event["ph"] == "X" and named.get(event["tid"], "steps") != "steps":
            together.setdefault(named[event["tid"]], []).append((event["ts"], event["ts"] + event["dur"]))
    lines = {row: [union(within(spans, begin, end))] for row, spans in together.items()}
    lines |= {row: _beside(within(spans, begin, end)) for row, spans in apart.items()}
    return {row: [[((a - begin) / 1000, (b - a) / 1000) for a, b in line] for line in each]
            for row, each in lines.items()}


def _beside(intervals):
    """Distributes intervals over lines on which they do not overlap; at least one line."""
    lines = [[]]
    for one in sorted(intervals):
        free = next((line for line in lines if not line or line[-1][1] <= one[0]), None)
        if free is None:
            lines.append(free := [])
        free.append(one)
    return lines


def _order(row):
    """Sort key: waits, then operations, then rails by name."""
    return row != _WAITS, " " in row, row


def _height(lines):
    """Returns a row's height; 1 for a row of few lines."""
    return max(1.0, 0.25 * lines)


def _draw(axes, bars, rows):
    """Draws one rank. `rows`: the number of lines of each row, from the top."""
    top, middles = 0.0, []
    for row, lines in rows.items():
        high = _height(lines)
        colour = "#bbbbbb" if row == _WAITS else "#e08a2c" if " " in row else "#2f6fb0"
        edges = {"edgecolor": "white", "linewidth": 0.4} if lines > 1 else {}
        for number, line in enumerate(bars.get(row, [])):
            axes.broken_barh(line, (top + high * (0.1 + 0.8 * number / lines), 0.8 * high / lines), color=colour,
                             **edges)
        middles.append(top + high / 2)
        top += high
    axes.set_yticks(middles, rows, fontsize=8)
    axes.set_ylim(top, 0)
    axes.spines[["top", "right"]].set_visible(False)
