#!/usr/bin/env python3
"""Runs raw_tcp and net_perf whole, both ranks on this machine, on a plugin without an engine."""

import argparse
import hashlib
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ARGS = None
QUICK = ["--duration", "0.3", "--warmup", "0.1"]


def run(program, *options, local=True, environment=None):
    """Returns (exit status, the JSON document or None, stderr)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [str(ARGS.bin / program), *(["--local"] if local else []), "--json", str(path), *options]
        clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "NCCL_SOCKET_IFNAME")}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                              env={**clean, **(environment or {})})
        document = json.loads(path.read_text()) if path.exists() else None
        return done.returncode, document, done.stderr


def full_device(folder):
    """Returns a device that is full, as /dev/full is: one of our own if the rights to make it could harm /dev/full."""
    path = Path(folder) / "full"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        return Path("/dev/full")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def net_perf(*options, **more):
    return run("net_perf", "--plugin", str(ARGS.plugin), *options, **more)


class RawTcp(unittest.TestCase):
    def test_one_by_one_and_together(self):
        status, document, errors = run("raw_tcp", *QUICK, "--rails", "127.0.0.1,127.0.0.2", "--together")
        self.assertEqual(status, 0, errors)
        summary = document["summary"]
        self.assertEqual(set(summary["per_rail_gbps"]), {"127.0.0.1", "127.0.0.2"})
        self.assertAlmostEqual(summary["sum_gbps"], sum(summary["per_rail_gbps"].values()))
        self.assertGreater(summary["together_gbps"], 0)
        self.assertEqual([len(r["flows"]) for r in document["results"]], [1, 1, 2])
        self.assertEqual(document["congestion_control"], "cubic")

    def test_counted_bytes(self):
        status, document, errors = run("raw_tcp", "--bytes", "20M", "--both")
        self.assertEqual(status, 0, errors)
        for flow in document["results"][0]["flows"]:
            self.assertLessEqual(flow["bytes"], 20 << 20)
            self.assertGreater(flow["seconds"], 0)

    def test_ping_pong(self):
        status, document, errors = run("raw_tcp", "--mode", "pingpong", "--iterations", "50", "--sizes", "8,64K")
        self.assertEqual(status, 0, errors)
        self.assertEqual(set(document["summary"]["p50_us"]), {"8", "65536"})

    def test_a_command_line_that_is_no_text(self):
        status, document, errors = run("raw_tcp", *QUICK, "--at", "0:true \udce9")
        self.assertEqual(status, 0, errors)
        self.assertEqual([event["exit"] for event in document["results"][0]["events"]], [0])

    def test_refusals_say_why(self):
        for options, word in [(["--rails", "nope0"], "nope0"), (["--cc", "nope"], "nope"), (["--size", "1Q"], "1Q")]:
            status, _, errors = run("raw_tcp", *QUICK, *options)
            self.assertNotEqual(status, 0)
            self.assertIn(word, errors)
        for options in (["--no-such-option"], ["--duration", "soon"], ["--duration", "-1"], ["--size", "0"]):
            self.assertEqual(run("raw_tcp", *options)[0], 2, options)

    def test_a_refusal_is_one_line_that_names_option_value_and_form(self):
        for options, words in [(["--at", "nan:true"], ("--at", "nan:true", "SECONDS:COMMAND")),
                               (["--patience", "nan"], ("--patience", "'nan'", "0 to 3600")),
                               (["--duration", "nan"], ("--duration", "'nan'", "0.001 to")),
                               (["--bytes", "0"], ("--bytes", "'0'", "at least 1")),
                               (["--size", "1Q"], ("--size", "'1Q'", "digits")),
                               (["--rank", "1"], ("--rank", "--local", "one of the two")),
                               (["--json", ""], ("--json", "''", "a name"))]:
            for program in ("raw_tcp", "net_perf"):
                status, _, errors = run(program, *options)
                self.assertEqual(status, 2, options)
                self.assertEqual(errors.count("\n"), 1, errors)
                for word in words:
                    self.assertIn(word, errors)

    def test_launchers_may_have_set_what_local_tells_itself(self):
        status, _, errors = run("raw_tcp", *QUICK, environment={"RANK": "1", "WORLD_SIZE": "2"})
        self.assertEqual(status, 0, errors)

    def test_its_congestion_control_is_the_plugins(self):
        for more in ([], ["--cc", "cubic"]):
            _, document, _ = run("raw_tcp", *QUICK, *more, environment={"RAILWEAVE_TCP_CONGESTION": "reno"})
            self.assertEqual(document["congestion_control"], "cubic" if more else "reno")


class Output(unittest.TestCase):
    def raw_tcp(self, *options, **streams):
        command = [str(ARGS.bin / "raw_tcp"), "--local", *QUICK, *options]
        return subprocess.run(command, text=True, stderr=subprocess.PIPE, timeout=60, check=False,
                              **{"stdout": subprocess.DEVNULL, **streams})

    def test_json_that_cannot_be_written_is_found_before_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (folder, f"{folder}/nowhere/r.json"):
                done = self.raw_tcp("--json", path)
                self.assertEqual(done.returncode, 2)
                self.assertIn(path, done.stderr)
            self.assertEqual(os.listdir(folder), [])
            self.assertFalse(os.path.exists(folder + ".part"))

    def test_json_to_a_device_leaves_it_one(self):
        with tempfile.TemporaryDirectory() as folder:
            device = full_device(folder)
            done = self.raw_tcp("--json", str(device))
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(device), done.stderr)
            self.assertTrue(device.is_char_device())
            self.assertLessEqual(len(os.listdir(folder)), 1)

    def test_json_to_stdout_comes_behind_the_table(self):
        done = self.raw_tcp("--json", "/proc/self/fd/1", stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout[done.stdout.index("{"):])["program"], "raw_tcp")

    def test_help_on_a_full_disk_is_no_success(self):
        programs = ["raw_tcp", "net_perf", "copy_bound", "railweave", "railweave-config-doc", "mpi_perf"]
        for words in [[program, "--help"] for program in programs] + [["railweave-config-doc"]]:
            if not (ARGS.bin / words[0]).exists():
                continue
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run([str(ARGS.bin / words[0]), *words[1:]], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn("standard output", done.stderr)

    def test_closed_streams_are_no_reason_to_die(self):
        command = f"exec {ARGS.bin / 'raw_tcp'} --local {' '.join(QUICK)} <&- >&-"
        done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class NetPerf(unittest.TestCase):
    def check_result(self, result):
        self.assertGreater(result["goodput_gbps"], 0)
        for rank in result["ranks"]:
            series = rank["series"]
            self.assertEqual(sum(series["received_bytes"]), rank["received_bytes"])
            self.assertIn("lo", rank["rails"])

    def test_every_byte_of_random_messages_both_ways(self):
        for api in ("v9", "v11"):
            status, document, errors = net_perf(*QUICK, "--both", "--comms", "5", "--random-sizes", "0..300K",
                                                "--verify", "--api", api, "--inflight", "8")
            self.assertEqual(status, 0, errors)
            result = document["results"][0]
            self.check_result(result)
            self.assertEqual(document["plugin"]["api"], api)
            self.assertEqual(len(result["flows"]), 10)
            self.assertEqual(result["verify"]["errors"], 0)
            self.assertGreaterEqual(result["verify"]["bytes_checked"], result["bytes"])
            self.assertEqual(result["ranks"][0]["sockets"], 10)

    def test_equal_work(self):
        status, document, errors = net_perf("--bytes", "10M", "--comms", "2", "--size", "64K", "--warmup", "0.1")
        self.assertEqual(status, 0, errors)
        result = document["results"][0]
        self.assertEqual([flow["bytes"] for flow in result["flows"]], [10 << 20] * 2)
        self.assertAlmostEqual(result["flows_times_slowest_gbps"], 2 * result["slowest_flow_gbps"])
        self.assertAlmostEqual(max(flow["seconds"] for flow in result["flows"]), result["seconds"], places=2)

    def test_a_file_of_any_length(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in", Path(folder) / "out"
            for length in (0, 1, 65536, 1000001):
                content = os.urandom(length)
                source.write_bytes(content)
                status, document, errors = net_perf("--file", str(source), "--output", str(target), "--size", "64K")
                self.assertEqual(status, 0, errors)
                self.assertEqual(target.read_bytes(), content)
                about = document["results"][0]["file"]
                self.assertTrue(about["match"])
                self.assertEqual(about["sha256_received"], hashlib.sha256(content).hexdigest())

    def test_ping_pong(self):
        status, document, errors = net_perf("--mode", "pingpong", "--iterations", "50", "--sizes", "0,8,4K", "--verify")
        self.assertEqual(status, 0, errors)
        for result in document["results"]:
            times = result["rtt_us"]
            self.assertLessEqual(times["min"], times["p50"])
            self.assertLessEqual(times["p99"], times["max"])

    def test_commands_in_the_block(self):
        status, document, errors = net_perf(*QUICK, "--at", "0:exit 4", "--at", "99:true")
        self.assertEqual(status, 0, errors)
        events = document["results"][0]["events"]
        self.assertEqual([(e["command"], e["exit"]) for e in events], [("exit 4", 4)])

    def test_two_processes_meet_by_the_environment(self):
        common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        command = [str(ARGS.bin / "net_perf"), "--plugin", str(ARGS.plugin), *QUICK]
        ranks = [subprocess.Popen(command, env={**common, "RANK": str(r)}, stdout=subprocess.PIPE) for r in (1, 0)]
        outputs = [rank.communicate(timeout=60)[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        self.assertEqual(outputs[0], b"")
        self.assertIn(b"Gb/s", outputs[1])

    def test_ranks_with_different_ports_end_in_time(self):
        common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        for program in ("net_perf", "raw_tcp"):
            command = [str(ARGS.bin / program), "--patience", "0.5"]
            ranks = [subprocess.Popen(command, env={**common, "RANK": str(r), "MASTER_PORT": str(29990 + r)}, text=True,
                                      stderr=subprocess.PIPE) for r in (0, 1)]
            errors = [rank.communicate(timeout=10)[1] for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [1, 1])
            self.assertIn("rank 1 did not come to the rendezvous at 127.0.0.1 port 29990", errors[0])
            self.assertIn("rank 0 was not at the rendezvous 127.0.0.1 port 29991", errors[1])

    def test_refusals_say_why(self):
        for options, word in [(["--api", "v8"], "ncclNetPlugin_v8"), (["--api", "5"], "v6 to v12"),
                              (["--device", "3"], "1 device"), (["--random-sizes", "9..1"], "--random-sizes"),
                              (["--seed", "-1"], "--seed: found '-1'")]:
            status, _, errors = net_perf(*QUICK, *options)
            self.assertNotEqual(status, 0)
            self.assertIn(word, errors)
        status, _, errors = run("net_perf", "--plugin", "/nowhere/lib.so")
        self.assertEqual(status, 1)
        self.assertIn("/nowhere/lib.so", errors)
        status, _, errors = run("net_perf", local=False)
        self.assertEqual(status, 1)
        self.assertIn("MASTER_ADDR", errors)


class SeveralSenders(unittest.TestCase):
    """One process receives from several ranks 0."""

    def ended(self, ports, *more, senders=2):
        """Returns the receiver's completed process, and the exit statuses and JSON documents of the senders. The ports
        beyond `senders` have no sender."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"{port}.json" for port in ports[:senders]]
            command = [str(ARGS.bin / "net_perf"), "--plugin", str(ARGS.plugin), "--bytes", "4M", "--size", "64K",
                       "--warmup", "0", "--verify"]
            common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
            running = [subprocess.Popen([*command, "--json", str(file)],
                                        env={**common, "RANK": "0", "MASTER_PORT": str(port)},
                                        stdout=subprocess.DEVNULL) for port, file in zip(ports, files)]
            places = ",".join(f"127.0.0.1:{port}" for port in ports)
            receiver = subprocess.run([*command, "--meet", places, *more],
                                      env={**common, "RANK": "1", "MASTER_PORT": "1"}, capture_output=True,
                                      text=True, timeout=60, check=False)
            statuses = [sender.wait(timeout=60) for sender in running]
            return receiver, statuses, [json.loads(file.read_text()) for file in files]

    def check_each_had_all(self, statuses, documents):
        self.assertEqual([0] * len(statuses), statuses)
        for result in (document["results"][0] for document in documents):
            self.assertEqual([4 << 20], [flow["bytes"] for flow in result["flows"]])
            self.assertEqual((64, 0), (result["ranks"][1]["received_messages"], result["verify"]["errors"]))

    def test_one_process_receives_from_each(self):
        receiver, statuses, documents = self.ended([free_port(), free_port()])
        self.assertEqual((0, "", ""), (receiver.returncode, receiver.stdout, receiver.stderr))
        self.check_each_had_all(statuses, documents)

    def test_a_missing_sender_fails_the_process_and_no_other_sender(self):
        ports = [free_port(), free_port()]
        receiver, statuses, documents = self.ended(ports, "--patience", "1", senders=1)
        self.assertEqual(1, receiver.returncode)
        self.assertRegex(receiver.stderr,
                         rf"\Arank 1 of 127.0.0.1 port {ports[1]}: rank 0 was not at the rendezvous .*\n\Z")
        self.check_each_had_all(statuses, documents)

    def test_refusals_say_why(self):
        for options, rank, words in [(["--meet", "127.0.0.1"], "1", ("found '127.0.0.1'", "ADDRESS:PORT")),
                                     (["--meet", ""], "1", ("found ''", "ADDRESS:PORT")),
                                     (["--meet", "a:1"], "0", ("found rank 0", "expected rank 1")),
                                     (["--meet", "a:1"], None, ("found no rank", "expected rank 1")),
                                     (["--meet", "a:1", "--local"], "1", ("--local", "one of the two")),
                                     (["--meet", "a:1", "--output", "x"], "1", ("--output", "one of the two"))]:
            with self.subTest(options):
                status, _, errors = run("net_perf", *options, local=False, environment={"RANK": rank} if rank else {})
                self.assertEqual(2, status, errors)
                self.assertEqual(1, errors.count("\n"), errors)
                for word in ("--meet", *words):
                    self.assertIn(word, errors)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="where the programs are")
    parser.add_argument("--plugin", type=Path, required=True, help="the plugin on bare sockets")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
