"""Takes a figure out of a program's JSON: by path, by path for every size, or as the rate within a window of its time
series."""
from __future__ import annotations

import statistics
from typing import Any

from bench.steps.paired import paired_ratio, ratios_of, strays

Sized = dict[str, float]  # a figure for each size in bytes


class NoValue(LookupError):
    """The JSON lacks a value that acceptance.json asks for. The message names the value."""


def at_path(data: Any, path: str) -> float:
    """Returns the number at `results.-1.cpu.machine_s_per_gb`: keys and list positions. Raises NoValue."""
    here = data
    for part in path.split("."):
        try:
            here = here[int(part)] if isinstance(here, list) else here[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise NoValue(f"no '{part}' of '{path}'") from None
    if isinstance(here, bool) or not isinstance(here, (int, float)):
        raise NoValue(f"'{path}' is {here!r}, not a number")
    return float(here)


def rate_after_event(data: dict, after_s: float) -> float:
    """Returns Gb/s of payload that rank 1 received from `after_s` after the first event to the end of the block. Raises
    NoValue.

    The ranks share one clock (CLOCK_MONOTONIC of one machine), but not its zero."""
    try:
        sender, receiver = data["results"][0]["ranks"]
        event = data["results"][0]["events"][0]
        if event["exit"] != 0:
            raise NoValue(f"the command of the event failed: {event}")
        begin_s = event["t_s"] + after_s + (sender["t0_monotonic_ns"] - receiver["t0_monotonic_ns"]) * 1e-9
        series = receiver["series"]
        bin_s = series["interval_ms"] * 1e-3
        bins = [got for end, got in zip(series["t_s"], series["received_bytes"]) if end - bin_s >= begin_s]
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise NoValue(f"no event or series: {error!r}") from None
    if not bins:
        raise NoValue(f"nothing was recorded {after_s:g} s after the event")
    return sum(bins) * 8e-9 / (len(bins) * bin_s)


def by_size(data: dict, path: str, scale: float, size_factor: int) -> Sized:
    """Returns the number at `path` in every entry of "results" with a size, whose size is multiplied by `size_factor`.
    Raises NoValue."""
    found = {str(entry["size"] * size_factor): at_path(entry, path) * scale
             for entry in data.get("results", []) if entry.get("size")}
    if not found:
        raise NoValue("no results by size")
    return found


def take(data: dict, spec: dict) -> float | Sized:
    """Returns one entry of a case's "values". Raises NoValue."""
    if "rate_after_event_s" in spec:
        return rate_after_event(data, spec["rate_after_event_s"])
    scale = spec.get("scale", 1.0)
    if "by_size" in spec:
        return by_size(data, spec["by_size"], scale, spec.get("size_factor", 1))
    return at_path(data, spec["path"]) * scale


OF_PAIRS = ("low", "high", "down", "up")  # suffixes that a formula may use: NAME_low, ...


def of_pairs(upper: list[float], lower: list[float]) -> dict[str, Any]:
    """Returns paired measurements as ratios: the samples, their median, "low" and "high" of its 95 % interval, and
    strays(). Raises NoValue if there is no interval."""
    ratio = paired_ratio(upper, lower)
    if ratio["low"] is None:
        raise NoValue(f"of {len(upper)} pairs there is no interval")
    samples, without = ratios_of(upper, lower)
    return {**ratio, **strays(samples, without), "samples": samples}


def median(samples: list[float] | list[Sized]) -> float | Sized:
    """Returns the median. For figures by size: size by size, for the sizes that all samples have."""
    if not isinstance(samples[0], dict):
        return statistics.median(samples)
    sizes = [size for size in samples[0] if all(size in sample for sample in samples)]
    return {size: statistics.median(sample[size] for sample in samples) for size in sizes}


def without_series(data: Any) -> Any:
    """Returns the data without time series, which are long. Every other raw figure stays."""
    if isinstance(data, dict):
        return {key: without_series(value) for key, value in data.items() if key != "series"}
    return [without_series(value) for value in data] if isinstance(data, list) else data
