"""Checks that every header compiles alone, and so includes everything it uses."""

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

COMPILER = "g++"


def include_flags(compile_commands):
    """Returns all include paths and defines of any file of the build, in order, each once."""
    flags = []
    for entry in json.loads(compile_commands.read_text()):
        words = shlex.split(entry["command"])
        for at, word in enumerate(words):
            if word in ("-isystem", "-iquote"):
                flags.append((word, words[at + 1]))
            elif word.startswith(("-I", "-D")):
                flags.append((word,))
    return [word for flag in dict.fromkeys(flags) for word in flag]


def first_error(output):
    return next((line for line in output.splitlines() if "error" in line), output.strip() or "the compiler failed")


def shown_by_its_source(root, name):
    """Whether the header's own .cc includes it first. Suite `clang-all` compiles each such .cc by itself."""
    source = (root / name).with_suffix(".cc")
    if name.startswith("tests/") or not source.exists() or "#pragma once" not in (root / name).read_text():
        return False
    first = re.search(r'^\s*#\s*include\s*["<]([^">]+)', source.read_text(), re.M)
    return first is not None and name.endswith(first[1])


def check(root, names, compile_commands):
    flags = ["-std=c++20", "-w", *include_flags(compile_commands)]
    launcher = ["ccache"] if shutil.which("ccache") else []
    directory = compile_commands.parent / "tidy-headers"  # the same each time, so that ccache finds its results again
    directory.mkdir(exist_ok=True)

    def compile_alone(name):
        # Compiles, since ccache does not remember mere parsing. Includes the header twice, to find a missing guard.
        source = directory / (name.replace("/", ".") + ".cc")
        source.write_text(f'#include "{root / name}"\n#include "{root / name}"\n')
        command = [*launcher, COMPILER, *flags, "-O0", "-c", str(source), "-o", f"{source}.o"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return f"{name}:1: does not compile alone; include what it uses: {first_error(done.stderr)}"
        return None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from filter(None, pool.map(compile_alone, [n for n in names if not shown_by_its_source(root, n)]))
