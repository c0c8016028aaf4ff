"""`tools/lab run`: the environment of a rank, the exit status, the output, and the lab's file."""
from __future__ import annotations

import fcntl
import os
import tempfile
import threading
import time
import unittest
import unittest.mock
from pathlib import Path

import support
from lab import congestion, run, state
from lab.iproute import CommandError
from lab.spec import make_spec
from support import lab


class Environment(unittest.TestCase):
    def test_a_rank_sees_its_host_only(self) -> None:
        done = lab("run", "--nics", "2,3", "--names", "eth,ens", "--", "sh", "-c",
                   "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT; "
                   "echo $NCCL_SOCKET_IFNAME; hostname; ls /sys/class/net | tr '\\n' ' '; echo")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([line for line in lines if line.startswith("[host0] ")],
                         ["[host0] 0/2 0/1 10.77.0.1:29500", "[host0] =eth0,eth1", "[host0] host0",
                          "[host0] eth0 eth1 lo "])
        self.assertEqual([line for line in lines if line.startswith("[host1] ")],
                         ["[host1] 1/2 0/1 10.77.0.1:29500", "[host1] =ens0,ens1,ens2", "[host1] host1",
                          "[host1] ens0 ens1 ens2 lo "])

    def test_links_are_up_when_the_command_starts(self) -> None:
        done = lab("run", "--", "cat", "/sys/class/net/eth0/operstate", "/sys/class/net/eth1/operstate")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[host0] up"] * 2 + ["[host1] up"] * 2)

    def test_congestion_control(self) -> None:
        show = ["--hosts", "1", "--nics", "1", "--", "cat", "/proc/sys/net/ipv4/tcp_congestion_control"]
        self.assertEqual(lab("run", *show).stdout, "[host0] cubic\n")
        self.assertEqual(lab("run", "--cc", "reno", *show).stdout, "[host0] reno\n")
        refused = lab("run", "--cc", "nonsense", *show)
        self.assertEqual(refused.returncode, 125)
        self.assertIn("--cc nonsense: this kernel has", refused.stderr)

    def test_ipv6_only(self) -> None:
        done = lab("run", "--ipv6", "--nics", "1", "--", "sh", "-c", "ip -4 addr show dev eth0; echo $MASTER_ADDR")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[host0] fd77::1", "[host1] fd77::1"])

    def test_several_ranks_per_host(self) -> None:
        done = lab("run", "--nics", "1", "--ranks-per-host", "2", "--", "sh", "-c",
                   "echo $RANK/$WORLD_SIZE $LOCAL_RANK")
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[host0.0] 0/4 0", "[host0.1] 1/4 1", "[host1.0] 2/4 0", "[host1.1] 3/4 1"])

    def test_pid_namespaces(self) -> None:
        done = lab("run", "--nics", "1", "--pid-namespaces", "--", "sh", "-c", "echo $$; exit $RANK")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[host0] 1", "[host1] 1"])
        self.assertEqual(done.returncode, 1)

    def test_loopback_needs_no_namespace(self) -> None:
        done = lab("run", "--loopback", "--", "sh", "-c",
                   "echo $RANK $NCCL_SOCKET_IFNAME $RWLAB_ADDRESSES $MASTER_ADDR; exit 4")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         [f"[host{rank}] {rank} =lo 127.0.0.1;127.0.1.1 127.0.0.1" for rank in (0, 1)])


    def test_loopback_ports_are_below_those_of_outgoing_connections(self) -> None:
        first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        done = lab("run", "--loopback", "--hosts", "1", "--", "sh", "-c", "echo port $MASTER_PORT")
        port = int(done.stdout.split("port ")[1])
        self.assertTrue(1024 < port < first_outgoing - 32, done.stdout)

    def test_loopback_takes_the_congestion_control_that_it_may(self) -> None:
        with unittest.mock.patch.object(congestion, "allow", side_effect=CommandError("may not")), \
                unittest.mock.patch.object(run, "Ranks") as ranks:
            run._start_loopback("x", run.Request(make_spec(2, "1", cc="nonsense"), ["true"], loopback=True), ranks)
        self.assertEqual({rank.environment["RAILWEAVE_TCP_CONGESTION"] for rank in ranks.start.call_args.args[0]},
                         {congestion.current()})


class FolderOfTheLabsFiles(unittest.TestCase):
    def test_root_of_a_user_namespace_has_a_folder_too(self) -> None:
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": name}):
            refuse = unittest.mock.patch.object(os, "access", side_effect=lambda path, _: str(path).startswith(name))
            with unittest.mock.patch.object(os, "geteuid", return_value=0), refuse:
                self.assertEqual(str(state.folder()), f"{name}/railweave-lab-0")
        with unittest.mock.patch.object(os, "access", return_value=False), self.assertRaises(OSError):
            state.folder()


class ExitStatus(unittest.TestCase):
    def test_worst_of_all(self) -> None:
        done = lab("run", "--hosts", "3", "--nics", "1", "--", "sh", "-c", "[ $RANK = 1 ] && exit 7; exit $RANK")
        self.assertEqual(done.returncode, 7)
        self.assertIn("host1 ended with status 7", done.stderr)

    def test_signal(self) -> None:
        self.assertEqual(lab("run", "--nics", "1", "--", "sh", "-c", "[ $RANK = 0 ] || kill -9 $$").returncode, 137)

    def test_command_that_does_not_exist(self) -> None:
        for command, said in (("build/none/bin/net_perf", "`make programs` makes"),
                              ("no-such-command", "no-such-command")):
            done = lab("run", "--nics", "1", "--", command)
            self.assertEqual(done.returncode, 127)
            self.assertIn(said, done.stderr)

    def test_timeout(self) -> None:
        done = lab("run", "--nics", "1", "--timeout", "0.5", "--", "sleep", "60", timeout_s=20)
        self.assertEqual(done.returncode, 124)

    def test_bad_command_line(self) -> None:
        for args, said in ((["--nics", "0", "--", "true"], "--nics"),
                           (["--rate", "quick", "--", "true"], "rate 'quick'"),
                           ([], "no command given"), (["--cut", "5:0", "--", "true"], "--cut")):
            done = lab("run", *args)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        self.assertEqual(lab("set", "--lab", "rwlab-none", "--nic", "0", "--up").returncode, 2)

    def test_output_of_both_streams_is_kept_apart(self) -> None:
        done = lab("run", "--hosts", "1", "--nics", "1", "--", "sh", "-c", "echo out; echo err >&2; printf tail")
        self.assertEqual(done.stdout, "[host0] out\n[host0] tail\n")
        self.assertEqual(done.stderr, "[host0] err\n")


class Claims(unittest.TestCase):
    def test_another_labs_start_takes_the_file_for_a_leftover(self) -> None:
        """The other lab removes the file before this lab has locked it. The claim then makes another file."""
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(state, "folder", lambda: Path(folder)):
            path = Path(folder) / "rwlab-1-aa.json"
            cleaner = os.open(path, os.O_RDWR | os.O_CREAT)
            fcntl.flock(cleaner, fcntl.LOCK_EX)
            claims: list[state.Claim] = []
            owner = threading.Thread(target=lambda: claims.append(state.Claim("rwlab-1-aa")))
            owner.start()
            while not any(f":{os.fstat(cleaner).st_ino} " in line and "->" in line
                          for line in Path("/proc/locks").read_text().splitlines()):
                self.assertTrue(owner.is_alive())
                time.sleep(0.01)
            path.unlink()
            os.close(cleaner)
            owner.join()
            self.assertTrue(os.path.samestat(path.stat(), os.fstat(claims[0].fd)))
            self.assertEqual([], state.clean_leftovers(), "it is locked")
            os.close(claims[0].fd)
            self.assertEqual(["rwlab-1-aa"], state.clean_leftovers())


if __name__ == "__main__":
    support.main()
