"""Shared by the tests of the lab: runs tools/lab and finds namespaces, files and processes that it must not leave."""
from __future__ import annotations

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Callable

kPerf = Path(__file__).resolve().parents[2] / "perf"
kLab = str(kPerf.parent / "tools" / "lab")
_VM_SETUP_S = 500  # downloads included
kVm = str(kPerf.parent / "tools" / "vm")
kVmFailed = 125  # its exit status if no VM can be had
kTraffic = str(Path(__file__).resolve().with_name("traffic.py"))
kSkip = 77
sys.path.insert(0, str(kPerf))


def lab(*args: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs tools/lab to its end."""
    return subprocess.run([sys.executable, kLab, *args], capture_output=True, text=True, timeout=timeout_s, check=False)


def start(*args: str) -> subprocess.Popen[str]:
    """Starts tools/lab in a process group of its own, as a shell does with a foreground job."""
    return subprocess.Popen([sys.executable, kLab, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def namespaces(name: str) -> list[str]:
    listing = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listing.splitlines() if line.startswith(f"{name}-")]


def state_file(name: str) -> Path:
    return Path("/run/railweave-lab") / f"{name}.json"


def alive(pid: int) -> bool:
    """Whether the process runs; False for a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition: Callable[[], bool], within_s: float = 6.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def main(needs_root: bool = True) -> None:
    if needs_root and (os.geteuid() != 0
                       or lab("run", "--hosts", "1", "--", "test", "-e", "/sys/class/net/eth0").returncode):
        print("skipped: no network namespaces here (not root, or refused)")
        sys.exit(kSkip)
    unittest.main()


def main_with_vm() -> None:
    """Runs the tests if tools/vm can make a VM here."""
    try:
        made = subprocess.run([sys.executable, kVm, "setup"], stderr=subprocess.PIPE, text=True, timeout=_VM_SETUP_S,
                              check=False)
    except subprocess.TimeoutExpired:
        print(f"skipped: tools/vm setup was not done within {_VM_SETUP_S} s; is a Debian mirror slow?")
        sys.exit(kSkip)
    if made.returncode == kVmFailed:
        said = [line for line in made.stderr.splitlines() if line.startswith("vm: ")]
        print(f"skipped: {said[-1]}")
        sys.exit(kSkip)
    unittest.main()
