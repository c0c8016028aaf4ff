"""Commands that are followed line by line, end with all they began, and may stand back behind others."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LEADERS = set()  # of the sessions that run_lines() runs
# Before a command: everybody else's work goes before its.
# A session of its own would else have its share of the processors.
STAND_BACK = ["sh", "-c", '{ echo 19 > /proc/self/autogroup; } 2>/dev/null; exec chrt --idle 0 "$@"', "sh"]


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


def end_all():
    """Kills all that run_lines() runs now, in any thread."""
    for leader in list(LEADERS):
        end_session(leader)


def run_lines(command, limit_s, log, on_line, env=None):
    """Runs `command`, hands each output line to on_line and the log. Returns the exit status, None when over time."""
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True)
    LEADERS.add(process.pid)
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
        process.stdout.close()
        LEADERS.discard(process.pid)
    return None if over.is_set() else status


def tail(log, lines):
    return "".join(open(log, errors="replace").readlines()[-lines:])
