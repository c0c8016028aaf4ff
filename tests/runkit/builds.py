"""Configures and builds presets of CMakePresets.json: proper builds, and builds ahead of time beside a waiting
suite."""

import fnmatch
import os
import signal
import subprocess
import threading

from .processes import ROOT, STAND_BACK, run_lines, tail
from .progress import Progress

BUILD_LIMIT_S = 2400  # for a machine that others use too


def ninja(preset, patterns):
    """Returns the command that builds the targets of these names of a configured preset; empty if there are none."""
    directory, targets = ROOT / "build" / preset, ["all"]
    if "all" not in patterns:
        listed = subprocess.run(["ninja", "-C", directory, "-t", "targets", "all"], capture_output=True, text=True)
        names = {line.split(":")[0] for line in listed.stdout.splitlines() if line.endswith(": phony")}
        targets = sorted(name for name in names if any(fnmatch.fnmatch(name, p) for p in patterns) and "/" not in name)
        targets = [name for name in targets if "." not in name]
    if not targets:
        return []
    return ["ninja", "-C", str(directory), "-j", str(os.cpu_count() or 2), "-k", "0", *targets]


class Ahead:
    """Builds during the block with idle processor time. The proper builds do the rest."""

    def __init__(self, presets, patterns_of, logs):
        self.presets, self.patterns_of, self.log = presets, patterns_of, logs / "build-ahead.log"
        self.process, self.ended = None, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def __exit__(self, *_):
        self.ended.set()
        while self.thread.is_alive():
            if self.process and self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGINT)  # ninja deletes half-made files
            self.thread.join(0.2)

    def run(self):
        with open(self.log, "a") as log:
            for preset in self.presets:
                if self.step(["cmake", "--preset", preset], log):
                    self.step(ninja(preset, self.patterns_of(preset)), log)

    def step(self, command, log):
        if self.ended.is_set() or not command:
            return False
        self.process = subprocess.Popen([*STAND_BACK, *command], cwd=ROOT, stdout=log, stderr=log,
                                        start_new_session=True)
        return self.process.wait() == 0


def build(preset, which, patterns, logs):
    """Builds a preset. `which`: its place among the builds, for people. Returns the error, or None."""
    log, progress = logs / f"build-{preset}.log", Progress()
    if run_lines(["cmake", "--preset", preset], 120, log, lambda _: None) != 0:
        return f"cmake --preset {preset} failed:\n{tail(log, 40)}"
    command = ninja(preset, patterns)
    if not command:
        return None
    status = run_lines(command, BUILD_LIMIT_S, log, lambda line: progress.show(f"build {preset} ({which}): {line}"))
    progress.clear()
    if status is None:
        return f"build of {preset} took longer than {BUILD_LIMIT_S} s"
    return None if status == 0 else f"build of {preset} failed ({log.relative_to(ROOT)}):\n{tail(log, 60)}"
