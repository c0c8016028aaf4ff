"""Commands that are followed line by line, end with all they began, and may stand back behind others."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def end_session(leader):
    """Kills all that runs in the session: ninja gives its commands process groups of their own, which killpg spares."""
    for _ in range(200):  # again, for those that were being forked; not for ever, for the kernel may hold on to one
        members = [pid for pid, session in sessions() if session == leader]
        if not members:
            return
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def sessions():
    """(process, session) of all that live."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has just ended
            continue
        if state not in "ZX":
            yield int(entry.name), int(session)


def run_lines(command, limit_s, log, on_line, env=None):
    """Runs `command`, hands each output line to on_line and the log. Returns the exit status, None when over time."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    over = threading.Event()

    def stop():
        over.set()
        end_session(process.pid)

    timer = threading.Timer(limit_s, stop)
    timer.start()
    try:
        with open(log, "w") as file:
            for line in process.stdout:
                file.write(line)
                on_line(line.rstrip("\n"))
        status = process.wait()
    except BaseException:
        end_session(process.pid)
        raise
    finally:
        timer.cancel()
    return None if over.is_set() else status


def tail(log, lines):
    return "".join(open(log, errors="replace").readlines()[-lines:])


def stand_back():
    """Everybody else's work goes before this process's and its children's."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("19")  # a session of its own would have half of the processors
