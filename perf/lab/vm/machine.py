"""`tools/vm run`, from the checked request to the exit status: starts QEMU, shows the console, ends QEMU."""
from __future__ import annotations

import os
import platform
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ..guardian import kStopping
from . import qemu
from .commands import say
from .errors import VmError
from .paths import kGuest, kImage, kInitramfs

kFailed = 125
_LOOK_S = 0.2
_READ_BYTES = 65536


@dataclass
class Request:
    script: Path
    arguments: list[str] = field(default_factory=list)
    seconds: float = 120.0
    cores: int = 1
    memory_mb: int = 2048
    out: Path | None = None  # None: the guest's /vmout is empty and thrown away
    steady: bool = False  # the guest's clock counts instructions
    kernel_append: str = ""


class Stopped(BaseException):
    """A signal asked the VM to end, or its time is over (SIGALRM)."""

    def __init__(self, number: int) -> None:
        self.number = number


def _on_signal(number: int, _frame: object) -> None:
    for stopping in kStopping:
        signal.signal(stopping, signal.SIG_IGN)  # further signals are ignored: the VM's end is under way
    raise Stopped(number)


def _check(request: Request) -> None:
    if platform.machine() != "x86_64":
        raise VmError(f"this host is {platform.machine()}; the VM runs the host's programs and needs x86_64")
    if shutil.which(qemu.kProgram) is None:
        raise VmError(f"{qemu.kProgram}: not found; run tools/vm setup")
    if not kImage.exists() or not kInitramfs.exists():
        raise VmError("build/vm has no kernel; run tools/vm setup")
    if kInitramfs.stat().st_mtime < (kGuest / "init").stat().st_mtime:
        raise VmError("build/vm is older than perf/lab/vm/guest/init; run tools/vm setup")
    if not request.script.is_file():
        raise VmError(f"{request.script}: no such script")


def _write_control(control: Path, request: Request) -> None:
    """Writes what the guest reads in /run/vm."""
    words = shlex.join([str(request.script.resolve()), *request.arguments])
    (control / "command").write_text(f"cd -- {shlex.quote(os.getcwd())}\nexec bash {words}\n")
    shutil.copy(kGuest / "start", control / "start")


def _start(argv: list[str], errors: Path) -> subprocess.Popen[bytes]:
    """Starts QEMU in a session of its own. The kernel kills QEMU if this process dies without notice."""
    with errors.open("wb") as sink:
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=sink, start_new_session=True)


def _print(line: bytes) -> None:
    try:
        sys.stdout.buffer.write(line.rstrip(b"\r") + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        pass  # the reader of our output has gone; the script goes on


def _show(console: int) -> None:
    """Prints the console's lines until QEMU ends. Waits in intervals, because a signal just before a system call does
    not interrupt the call."""
    rest = b""
    while True:
        if not select.select([console], [], [], _LOOK_S)[0]:
            continue
        data = os.read(console, _READ_BYTES)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            _print(line)
    if rest:
        _print(rest)


def _status(control: Path, errors: Path) -> int:
    """Returns the script's exit status. Raises VmError if the guest left none."""
    try:
        return int((control / "status").read_text())
    except (OSError, ValueError):
        why = errors.read_text(errors="replace").strip() or "the console's last lines may say why"
        raise VmError(f"the VM ended without a status of the script: {why}") from None


def _why_stopped(stopped: Stopped, request: Request, control: Path) -> tuple[int, str]:
    """Returns the exit status and the reason."""
    if stopped.number != signal.SIGALRM:
        return 128 + stopped.number, f"stopped by {signal.Signals(stopped.number).name}"
    begun = (control / "began").exists()
    what = "the script had not ended" if begun else "the guest had not booted"
    return kFailed, f"time limit of {request.seconds:g} s (--seconds): {what}"


def _run_in(folder: Path, request: Request) -> int:
    control, out, errors = folder / "control", request.out or folder / "out", folder / "errors"
    control.mkdir()
    out.mkdir(parents=True, exist_ok=True)
    _write_control(control, request)
    shares = [qemu.Share("host", Path("/"), read_only=True), qemu.Share("control", control),
              qemu.Share("out", out.resolve())]
    process = None
    try:
        for number in kStopping:
            signal.signal(number, _on_signal)
        signal.setitimer(signal.ITIMER_REAL, request.seconds)
        argv = qemu.command(request.cores, request.memory_mb, shares, request.steady, request.kernel_append)
        process = _start(argv, errors)
        _show(process.stdout.fileno())
        process.wait()
        return _status(control, errors)
    except Stopped as stopped:
        status, why = _why_stopped(stopped, request, control)
        say(why)
        return status
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if process:
            process.kill()
            process.wait()


def run(request: Request) -> int:
    """Runs the request. Returns the script's exit status; 125 after the time limit, 128 + signal after a signal. Raises
    VmError."""
    _check(request)
    with tempfile.TemporaryDirectory(prefix="railweave-vm-") as name:
        return _run_in(Path(name), request)
