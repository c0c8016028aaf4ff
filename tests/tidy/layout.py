"""Checks the length of lines, and C++ against clang-format. Pure but for clang-format, which reads the files."""

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CLANG_FORMAT = "clang-format-14"
_BATCH = 40  # files for one process
_FINDING = re.compile(r"^(.+?):(\d+):\d+: (?:error|warning): code should be clang-formatted", re.M)


def bad_bytes(name, content):
    """Finds what the other checks cannot read: text that is not UTF-8, and lines that end as on Windows."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"{name}:{content.count(10, 0, error.start) + 1}: not UTF-8"
    if b"\r" in content:
        yield f"{name}:{content.count(10, 0, content.index(13)) + 1}: a carriage return; end lines with a line feed"


def long_lines(name, text, most):
    """Yields a finding for each line of more characters. Characters, not bytes: a header's drawing may have arrows."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > most:
            yield f"{name}:{number}: {len(line)} columns, at most {most}; break the line"


def _clang_format(root, names):
    """Returns the finished process; None: clang-format is not installed."""
    try:
        return subprocess.run([CLANG_FORMAT, "--dry-run", "--style=file", *names], cwd=root, capture_output=True,
                              text=True)
    except FileNotFoundError:
        return None


def unformatted(root, names):
    """Yields one finding for each C++ file that clang-format would change, at the first line that differs."""
    batches = [names[first:first + _BATCH] for first in range(0, len(names), _BATCH)]
    with ThreadPoolExecutor(2) as pool:
        for ran in pool.map(lambda batch: _clang_format(root, batch), batches):
            if ran is None:
                yield f".clang-format:1: {CLANG_FORMAT} is not installed; run: tools/setup packages"
                return
            if ran.returncode != 0:
                yield f".clang-format:1: {CLANG_FORMAT} failed: {ran.stderr.strip()}"
                return
            first_lines = {}
            for name, line in _FINDING.findall(ran.stderr):
                first_lines.setdefault(Path(name).as_posix(), line)
            for name, line in first_lines.items():
                yield f"{name}:{line}: {CLANG_FORMAT} writes this otherwise; run: tools/format"
