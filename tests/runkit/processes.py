"""Commands that are followed line by line, are ended with all their children, and may run at idle priority."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LEADERS = set()  # pids of the session leaders that run_lines() runs
# Prefix of a command that lets all other work go first. Without it, the command's own session would get an equal share
# of the processors (autogroups).
STAND_BACK = ["sh", "-c", '{ echo 19 > /proc/self/autogroup; } 2>/dev/null; exec chrt --idle 0 "$@"', "sh"]


def end_session(leader):
    """Kills all processes of the session. ninja gives its commands their own process groups, which killpg misses."""
    for _ in range(200):  # repeated for processes that were being forked; bounded, since the kernel may keep one alive
        members = [pid for pid, session in sessions() if session == leader]
        if not members:
            return
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def sessions():
    """Yields (process, session) of all living processes."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # the process has just ended
            continue
        if state not in "ZX":
            yield int(entry.name), int(session)


def end_all():
    """Kills everything that run_lines() runs now, in any thread."""
    for leader in list(LEADERS):
        end_session(leader)


def run_lines(command, limit_s, log, on_line, env=None):
    """Runs `command` and passes each output line to on_line and the log. Returns the exit status; None after the time
    limit."""
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
