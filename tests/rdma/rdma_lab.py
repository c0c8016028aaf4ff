"""Runs programs between two hosts of a lab, whose NICs have RDMA devices, in a VM. For tests that run on request and
take minutes; each leaves a line for the record of tests/run.

The first argument of a test program is the folder of the built programs (default: the release build)."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "tests" / "lab"))
import support  # noqa: E402

_RELEASE = _ROOT / "build" / "release" / "bin"
kBin = Path(sys.argv.pop(1)) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else _RELEASE
kPython = sys.executable
# Chooses the moments and places of faults. A new one for each run, unless the variable has one.
kSeed = int(os.environ.get("RDMA_SEED") or time.time() / 60)
_LAB = support.kPerf / "lab" / "vm" / "guest" / "rdma_lab"
_IN_VM = """\
uname -r >/vmout/kernel
"$@"
status=$?
cut -d ' ' -f 1 /proc/uptime >/vmout/seconds
exit $status
"""


class Done:
    """A program that ran in both hosts, and the files that it left in /vmout."""

    def __init__(self, status: int, said: str, folder: Path, took_s: float) -> None:
        self.status, self.said, self.took_s = status, said, took_s
        self._folder = folder

    def text(self, name: str) -> str:
        """Returns a file's text; empty: there is no such file."""
        file = self._folder / name
        return file.read_text() if file.exists() else ""

    @property
    def circumstances(self) -> str:
        return (f"{self.took_s:.0f} s, {float(self.text('seconds')):.0f} s of the VM, "
                f"kernel {self.text('kernel').strip()}")


class RdmaTest(unittest.TestCase):
    def in_lab(self, *command: str, limit_s: int, lab: tuple[str, ...] = (), steady: bool = True) -> Done:
        """Runs `command` in both hosts. `lab`: more options of tools/lab. `limit_s`: of the whole, on a busy machine.
        `steady`: the VM's clock counts instructions, else it is the host's. Asserts that the command succeeded."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="railweave-rdma-test-")))
        script = folder / "in_vm.sh"
        script.write_text(_IN_VM)
        vm = [sys.executable, support.kVm, "run", *(["--steady-clock"] if steady else []), "--out", str(folder),
              "--seconds", str(limit_s), str(script)]
        hosts = [str(_LAB), "--nics", "2", "--mtu", "4200", *lab, "--", *command]
        began_s = time.monotonic()
        done = subprocess.run([*vm, *hosts], capture_output=True, text=True, timeout=limit_s + 60, check=False)
        said = f"seed {kSeed}\n{done.stdout}{done.stderr}"
        self.assertEqual(0, done.returncode, said)
        return Done(done.returncode, said, folder, time.monotonic() - began_s)


def note(name: str, text: str) -> None:
    """Prints a text, and keeps it for the record of tests/run."""
    print(text, flush=True)
    if folder := os.environ.get("TESTS_NOTES"):
        (Path(folder) / name).write_text(text + "\n")


def main() -> None:
    print(f"seed {kSeed} (RDMA_SEED={kSeed} repeats it)", flush=True)
    support.main_with_vm()
