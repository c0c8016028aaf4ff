#!/usr/bin/env python3
"""Draws a terminal with a command and its output as SVG.

The output comes from standard input.

    railweave info | perf/bench/plots/terminal.py "railweave info" docs/pictures/info.svg
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from xml.sax.saxutils import escape

_CHARACTER_PX, _LINE_PX, _MARGIN_PX, _BAR_PX = 8.1, 19, 18, 30  # a monospaced font of 13 px
_BACKGROUND, _BAR, _TEXT, _PROMPT, _FAINT = "#1e2530", "#323c4a", "#e4e9ef", "#7fd18b", "#93a1b1"
_COLUMNS_MAX = 130


def terminal(command: str, output: list[str]) -> str:
    """Returns an SVG. Lines are cut at 130 columns, a cut line ends with an ellipsis. Headings of tables, in capitals,
    are fainter."""
    lines = [line if len(line) <= _COLUMNS_MAX else line[:_COLUMNS_MAX - 1] + "…" for line in output]
    width = 2 * _MARGIN_PX + _CHARACTER_PX * max(60, len(command) + 2, *map(len, lines))
    height = _BAR_PX + 2 * _MARGIN_PX + _LINE_PX * (len(lines) + 1)
    text = [_line(0, f'<tspan fill="{_PROMPT}">$</tspan> {escape(command)}', _TEXT)]
    text += [_line(row, escape(line), _FAINT if _is_heading(line) else _TEXT) for row, line in enumerate(lines, 1)]
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="{_BAR_PX / 2}" r="5.5" fill="{colour}"/>'
                   for n, colour in enumerate(("#e0655f", "#e5b454", "#7fb86b")))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">',
        f'<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/>',
        f'<path d="M0 {_BAR_PX}V8a8 8 0 0 1 8-8H{width - 8:.0f}a8 8 0 0 1 8 8V{_BAR_PX}z" fill="{_BAR}"/>', dots,
        *text, "</svg>", ""])


def _is_heading(line: str) -> bool:
    return line.startswith("  ") and line.upper() == line and any(c.isalpha() for c in line)


def _line(row: int, marked: str, colour: str) -> str:
    y = _BAR_PX + _MARGIN_PX + _LINE_PX * row + 10
    return f'<text x="{_MARGIN_PX}" y="{y}" fill="{colour}" xml:space="preserve">{marked}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(prog="perf/bench/plots/terminal.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the command to show behind the prompt")
    parser.add_argument("picture", type=Path, help="the SVG to write")
    args = parser.parse_args()
    args.picture.write_text(terminal(args.command, sys.stdin.read().rstrip("\n").split("\n")))


if __name__ == "__main__":
    main()
