"""`tools/vm`: the exit status, files, the time limit, the end by a signal, RDMA over a cable, and netem's loss."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from lab.vm import initramfs

kGuest = support.kPerf / "lab" / "vm" / "guest"
# Two ibv_rc_pingpong, one for each end of the cable. $1: messages, $2: how many ends must end well. The ends are gone
# afterwards. While packets are lost, the last acknowledgement of one end may be lost after the other end has gone, and
# rdma_rxe then repeats the last message without end.
_PING_PONG = """
ping_pong() {
  local ended=0
  timeout 60 ibv_rc_pingpong -d rxe0 -g "$(rail_gid 0)" -s 4096 -n "$1" &
  for tries in {1..100}; do
    [[ -z $(ss -Hltn sport = 18515) ]] || break
    sleep 0.1
  done
  timeout 60 ibv_rc_pingpong -d rxe1 -g "$(rail_gid 1)" -s 4096 -n "$1" "$(rail_address 0)" &
  while ((ended < $2)); do
    wait -n || return 1
    ended=$((ended + 1))
  done
  kill $(jobs -p) 2>/dev/null
  wait
}
"""
_RDMA = f"""
. {kGuest}/rdma_pair && . {kGuest}/rail_faults && rdma_pair || exit 1
{_PING_PONG}
read -r before </sys/class/net/v1/statistics/tx_bytes
ping_pong 100 2 || exit 1
echo clean done
read -r after </sys/class/net/v1/statistics/tx_bytes
echo "bytes on the cable: $((after - before))"
rail_loss 0 5 && rail_loss 1 5 && ping_pong 100 1 || exit 1
echo lossy done
tc -s qdisc show dev v0; tc -s qdisc show dev v1
"""
_IN_A_HOST = """
[[ $(ls /sys/class/infiniband) == "rxe${RANK}_eth0" ]] || exit 3
if [[ $RANK == 0 ]]; then
  exec timeout 60 ibv_rc_pingpong -d rxe0_eth0 -g 1 -n 50
fi
for tries in {1..100}; do
  sleep 0.2
  timeout 60 ibv_rc_pingpong -d rxe1_eth0 -g 1 -n 50 10.77.0.1 && exit 0
done
exit 4
"""


def vm(script: str, *arguments: str, options: list[str] | None = None,
       limit_s: float = 150) -> subprocess.CompletedProcess[str]:
    """Runs a script in a VM to its end."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        return subprocess.run([sys.executable, support.kVm, "run", *(options or []), file.name, *arguments],
                              capture_output=True, text=True, timeout=limit_s, check=False)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Script(unittest.TestCase):
    def test_status_arguments_and_files_pass(self) -> None:
        mark = Path(tempfile.gettempdir()) / f"railweave-vm-mark-{os.getpid()}"
        with tempfile.TemporaryDirectory() as out:
            (Path(out) / "from_host").write_text("from the host\n")
            done = vm(f'echo "$# $2"; pwd; cat /vmout/from_host; uname -r >/vmout/kernel; touch {mark}; exit 7',
                      "one", "two words", options=["--out", out])
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertEqual(done.stdout.splitlines()[-3:], ["2 two words", os.getcwd(), "from the host"])
            kernel = (Path(out) / "kernel").read_text().strip()
            self.assertTrue((support.kPerf.parent / "build" / "vm" / "kernel" / "lib" / "modules" / kernel).is_dir())
        self.assertFalse(mark.exists(), "what the guest writes stays in the guest")

    def test_time_limit(self) -> None:
        done = vm("sleep 1000", options=["--seconds", "5"])
        self.assertEqual(done.returncode, support.kVmFailed)
        self.assertIn("time limit of 5 s", done.stderr)

    def test_a_guest_that_dies_is_a_failure_of_the_vm(self) -> None:
        done = vm("echo c >/proc/sysrq-trigger; sleep 1000")
        self.assertEqual(done.returncode, support.kVmFailed)
        self.assertIn("without a status", done.stderr)

    def test_signal_ends_qemu(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
            file.write("echo here; sleep 1000")
            file.flush()
            running = subprocess.Popen([sys.executable, support.kVm, "run", file.name], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            try:
                while (line := running.stdout.readline()) and line != "here\n":
                    pass
                found = children(running.pid)
                self.assertEqual(len(found), 1)
                running.send_signal(signal.SIGTERM)
                _, said = running.communicate(timeout=20)
            finally:
                running.kill()
        self.assertEqual(running.returncode, 128 + signal.SIGTERM)
        self.assertIn("stopped by SIGTERM", said)
        self.assertFalse(support.alive(found[0]))

    def test_bad_command_line(self) -> None:
        self.assertEqual(vm("", options=["--seconds", "0"]).returncode, 2)
        absent = subprocess.run([sys.executable, support.kVm, "run", "/absent.sh"], capture_output=True, text=True,
                                check=False)
        self.assertEqual(absent.returncode, support.kVmFailed)
        self.assertIn("/absent.sh: no such script", absent.stderr)


class Rdma(unittest.TestCase):
    def test_ping_pong_uses_the_cable_also_while_packets_are_lost(self) -> None:
        done = vm(_RDMA)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("clean done", done.stdout)
        self.assertIn("lossy done", done.stdout)
        carried = int(re.search(r"bytes on the cable: (\d+)", done.stdout)[1])
        self.assertGreater(carried, 100 * 4096)
        dropped = [int(count) for count in re.findall(r"dropped (\d+)", done.stdout)]
        self.assertEqual(len(dropped), 2)
        self.assertGreater(sum(dropped), 0)

    def test_a_host_of_the_lab_sees_its_own_devices(self) -> None:
        command = [sys.executable, support.kVm, "run", "--steady-clock", str(kGuest / "rdma_lab"), "--nics", "1",
                   "--mtu", "4200", "--", "bash", "-c", _IN_A_HOST]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Initramfs(unittest.TestCase):
    def test_modules_load_after_what_they_need(self) -> None:
        listed = "kernel/a-b.ko.xz: kernel/c.ko.xz kernel/d.ko\nkernel/c.ko.xz: kernel/d.ko\nkernel/d.ko:\n"
        self.assertEqual(initramfs.load_order(listed, ("a_b", "built_in", "c")),
                         ["kernel/d.ko", "kernel/c.ko.xz", "kernel/a-b.ko.xz"])


if __name__ == "__main__":
    support.main_with_vm()
