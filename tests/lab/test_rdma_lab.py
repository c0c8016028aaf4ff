"""The engine over RDMA in software: two hosts with two NICs each, of which all or some have rxe devices, in a VM. Every
byte is right, and both rails carry. No timing is judged: the VM is emulated."""
from __future__ import annotations

import json
import subprocess
import sys
import unittest
from pathlib import Path

import support

_LAB = str(support.kPerf / "lab" / "vm" / "guest" / "rdma_lab")
_RELEASE = support.kPerf.parent / "build" / "release" / "bin"
_BIN = Path(sys.argv.pop(1)) if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir() else _RELEASE
_LIMIT_S = 150
# $1: RAILWEAVE_WIRES of host 1; $2: a command that host 1 runs first; the rest: net_perf's options.
_SCRIPT = """
export RAILWEAVE_WIRES=verbs,tcp
[ $RANK = 0 ] || { export RAILWEAVE_WIRES=$1; eval "$2"; }
shift 2
""" + f'exec {_BIN / "net_perf"} --verify --warmup 0 --json /tmp/result.json "$@"'


class Verbs(unittest.TestCase):
    def net_perf(self, *options: str, wires: str = "verbs,tcp", first: str = ":") -> dict:
        """Returns net_perf's document. Asserts that the run succeeded and no byte was wrong."""
        lab = [_LAB, "--nics", "2", "--mtu", "4200", "--timeout", "100", "--", "sh", "-c", _SCRIPT, "sh", wires, first,
               *options]
        command = [sys.executable, support.kVm, "run", "--seconds", str(_LIMIT_S),
                   str(Path(__file__).resolve().with_name("rdma_lab_run.sh")), *lab]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S + 60, check=False)
        said = done.stdout + done.stderr
        self.assertEqual(0, done.returncode, said)
        document = json.loads(done.stdout[done.stdout.index('\n{') + 1:done.stdout.rindex('}') + 1])
        result = document["results"][0]
        self.assertEqual(0, result["verify"]["errors"], said)
        self.assertGreater(result["verify"]["bytes_checked"], 0, said)
        return result

    def wires(self, result: dict) -> dict[str, str]:
        """Returns the wire of each rail of rank 0 that carried."""
        return {lane["rail"]: lane["wire"] for lane in result["ranks"][0]["engine"]["lanes"] if lane["bytes_sent"] > 0}

    def test_both_rails_carry_by_rdma(self) -> None:
        self.assertEqual({"eth0": "verbs", "eth1": "verbs"}, self.wires(self.net_perf("--bytes", "30M")))

    def test_one_rail_by_rdma_and_one_by_tcp(self) -> None:
        result = self.net_perf("--bytes", "30M", first="rdma link del rxe1_eth1")
        self.assertEqual({"eth0": "verbs", "eth1": "tcp"}, self.wires(result))

    def test_a_host_without_rdma_gets_tcp(self) -> None:
        self.assertEqual({"eth0": "tcp", "eth1": "tcp"}, self.wires(self.net_perf("--bytes", "30M", wires="tcp")))

    def test_a_rail_that_is_lost_and_comes_back_costs_no_request(self) -> None:
        result = self.net_perf("--duration", "15", "--at", "3:ip link set eth1 down", "--at", "9:ip link set eth1 up")
        self.assertIn("verbs", self.wires(result).values())

    def test_a_rail_whose_device_is_removed_goes_on_by_tcp(self) -> None:
        result = self.net_perf("--duration", "15", "--at", "5:rdma link del rxe0_eth1")
        carried = {(lane["rail"], lane["wire"]) for lane in result["ranks"][0]["engine"]["lanes"]
                   if lane["bytes_sent"] > 0}
        self.assertLessEqual({("eth0", "verbs"), ("eth1", "tcp")}, carried)


if __name__ == "__main__":
    support.main_with_vm()
