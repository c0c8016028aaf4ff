#!/usr/bin/env python3
"""Runs the programs of nccl-tests, with their ranks on this machine. Compares tables with those in golden/, byte for
byte except for measured figures. `--update` writes golden/ anew."""

import argparse
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ARGS = None
GOLDEN = Path(__file__).resolve().parent / "golden"
ROW_HEAD = 12 + 2 + 12 + 2 + 8 + 2 + 6 + 2 + 6
NUMBER = re.compile(r" *\d+(\.\d+)?(e[+-]\d+)?")


def clean_environment():
    left_out = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NCCL_SOCKET_IFNAME",
                "NCCL_TESTS_MIN_BW")
    return {name: value for name, value in os.environ.items() if name not in left_out and not name.startswith("OMPI_")}


def run(words, **environment):
    argv = [str(ARGS.bin / words[0]), *words[1:]]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, env={**clean_environment(), **environment},
                          check=False)


def masked_figures(text, widths):
    """Replaces each number by as many `#` as it is wide. Anything that is no number of that width stays, and so shows
    as a difference. Returns the new text and the rest of `text`."""
    made, at = "", 0
    for width in widths:
        field = text[at + 2:at + 2 + width]
        good = text[at:at + 2] == "  " and len(field) == width and NUMBER.fullmatch(field)
        made += "  " + "#" * width if good else text[at:at + 2 + width]
        at += 2 + width
    return made, text[at:]


def masked_row(line, per_iteration):
    made, rest = line[:ROW_HEAD], line[ROW_HEAD:]
    for _ in ("out of place", "in place"):
        figures, rest = masked_figures(rest, (7, 6, 6))
        made += figures
        wrong = 7 if rest.startswith("    N/A") else 8
        made, rest = made + rest[:wrong], rest[wrong:]
        if per_iteration:
            figures, rest = masked_figures(rest, (7, 7, 7, 7))
            made += figures
    return made + re.sub(r"\d", "#", rest)


def masked(text):
    lines = []
    per_iteration = "i_min" in text
    for line in text.splitlines():
        if line.startswith("#  Rank"):
            line = re.sub(r"Pid +\d+ on +\S+ device", "Pid ###### on HOST device", line)
        elif line.startswith("# Avg bus bandwidth"):
            line = re.sub(r": [\d.e+-]+ ", ": # ", line)
        elif not line.startswith("#"):
            line = masked_row(line, per_iteration)
        lines.append(line + "\n")
    return "".join(lines)


def golden_command(path):
    first = path.read_text().splitlines()[0]
    return shlex.split(first.removeprefix("$ "))


class Golden(unittest.TestCase):
    maxDiff = None

    def test_tables(self):
        for path in sorted(GOLDEN.glob("*.txt")):
            with self.subTest(path.stem):
                command = golden_command(path)
                done = run(command)
                self.assertEqual(done.returncode, 0, done.stderr)
                said = f"$ {shlex.join(command)}\n{masked(done.stdout)}"
                if ARGS.update:
                    path.write_text(said)
                self.assertEqual(said, path.read_text())

    def test_there_are_a_dozen(self):
        self.assertGreaterEqual(len(list(GOLDEN.glob("*.txt"))), 12)


class Programs(unittest.TestCase):
    def rows(self, done):
        return [line.split() for line in done.stdout.splitlines() if line and not line.startswith("#")]

    def test_every_type_and_reduction_comes_out_right(self):
        for program in ("all_reduce_perf", "reduce_scatter_perf", "reduce_perf"):
            done = run([program, "--local", "3", "-b", "3000", "-e", "3000", "-n", "1", "-d", "all", "-o", "all"])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = self.rows(done)
            self.assertEqual(len(rows), 10 * 6)  # 8-bit floats do not reduce
            self.assertEqual({(row[8], row[12]) for row in rows}, {("0", "0")})

    def test_other_types_and_reductions(self):
        for kind, reduction in [("int16", "bxor"), ("uint16", "bor"), ("bool", "band"), ("complex64", "sum"),
                                ("complex128", "avg")]:
            done = run(["all_reduce_perf", "--local", "2", "-b", "4000", "-e", "4000", "-n", "1", "-d", kind,
                        "-o", reduction])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_root(self):
        for program in ("broadcast_perf", "reduce_perf", "gather_perf", "scatter_perf"):
            done = run([program, "--local", "3", "-b", "30000", "-e", "30000", "-n", "1", "-r", "all"])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual([row[4] for row in self.rows(done)], ["0", "1", "2"])

    def test_threads_are_ranks(self):
        done = run(["all_gather_perf", "--local", "2", "-t", "2", "-b", "64K", "-e", "64K", "-n", "2"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("#  Rank"), 4)

    def test_alone(self):
        for program in ("all_reduce_perf", "alltoall_perf"):
            done = run([program, "-b", "1K", "-e", "1K", "-n", "2"])
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_json_says_what_the_table_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out.json"
            command = ["all_reduce_perf", "--local", "2", "-b", "1K", "-e", "4K", "-f", "2", "-n", "2", "-J", str(path)]
            done = run(command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"# Writing JSON output to {path}\n", done.stdout)
            document = json.loads(path.read_text())
            self.assertEqual([row["size"] for row in document["results"]], [1024, 2048, 4096])
            first = document["results"][0]
            self.assertEqual((first["count"], first["type"], first["redop"], first["root"]),
                             (256, "float", "sum", "    -1"))
            self.assertEqual(set(first["in_place"]), {"time", "alg_bw", "bus_bw", "nwrong"})
            self.assertEqual(len(document["config"]["devices"]), 2)
            self.assertEqual(document["out_of_bounds"], {"count": 0, "okay": "true"})
            self.assertEqual(document["average_bus_bandwidth"]["okay"], "unchecked")
            second = run(command)
            self.assertIn(f"# Writing JSON output to {path}.0\n", second.stdout)

    def test_too_slow_is_a_failure(self):
        command = ["all_reduce_perf", "--local", "2", "-b", "1K", "-e", "1K", "-n", "1"]
        done = run(command, NCCL_TESTS_MIN_BW="100000")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"Avg bus bandwidth    : \S+ FAILED\n")
        self.assertEqual(run(command, NCCL_TESTS_MIN_BW="0").returncode, 0)

    def test_refusals_say_why(self):
        for options, word in [(["-G", "1"], "--cudagraph"), (["-r", "2", "--local", "2"], "--root 2"),
                              (["-d", "f8e4m3"], "f8e4m3")]:
            done = run(["reduce_perf", *options])
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(word, done.stderr)
        done = run(["reduce_perf"], RANK="2", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("RANK 2", done.stderr)
        done = run(["reduce_perf"], RANK="0")  # the launcher forgot to set WORLD_SIZE
        self.assertEqual(done.returncode, 1)
        self.assertIn("WORLD_SIZE 0", done.stderr)

    def test_output_that_cannot_be_written_fails_without_a_crash(self):
        command = [str(ARGS.bin / "all_reduce_perf"), "-b", "8", "-e", "8", "-n", "1"]
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                  env=clean_environment(), check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("standard output", done.stderr)
            refused = [*command, "-d", "none"]
            done = subprocess.run(refused, stderr=full, timeout=60, env=clean_environment(), check=False)
            self.assertEqual(done.returncode, 2)

    def test_help_and_a_closed_stdout(self):
        program = ARGS.bin / "all_reduce_perf"
        for words, code in [("--help >/dev/full", 1), ("--local 2 -b 8 -e 8 -n 1 >&-", 1),
                            ("-b 8 -e 8 -n 1 <&- >&- 2>&-", 1)]:
            done = subprocess.run(["sh", "-c", f"exec {program} {words}"], stderr=subprocess.PIPE, text=True,
                                  timeout=60, env=clean_environment(), check=False)
            self.assertEqual(done.returncode, code, words)
            if "2>&-" not in words:
                self.assertIn("standard output", done.stderr)

    def test_json_that_cannot_be_written_is_found_before_measuring(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (folder, f"{folder}/nowhere/r.json"):
                done = run(["all_reduce_perf", "--local", "2", "-N", "0", "-J", path])
                self.assertEqual(done.returncode, 2)
                self.assertIn(path, done.stderr)
                self.assertEqual(done.stdout, "")
            self.assertEqual(os.listdir(folder), [])

    def test_json_to_a_pipe_leaves_it_one(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "pipe"
            os.mkfifo(pipe)
            argv = [str(ARGS.bin / "all_reduce_perf"), "--local", "2", "-b", "8", "-e", "8", "-n", "1", "-J", str(pipe)]
            with subprocess.Popen(argv, env=clean_environment(), stdout=subprocess.DEVNULL) as running:
                end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
                running.wait(timeout=60)
                document = json.loads(os.read(end, 1 << 16))
                os.close(end)
            self.assertEqual(running.returncode, 0)
            self.assertEqual(document["results"][0]["size"], 8)
            self.assertEqual(os.listdir(folder), ["pipe"])

    def test_nothing_is_left_of_json_that_was_not_to_be(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(["all_reduce_perf", "-J", f"{folder}/r.json"], NCCL_SOCKET_IFNAME="=nope0")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(os.listdir(folder), [])

    def test_an_error_begins_a_line_of_its_own(self):
        argv = [str(ARGS.bin / "all_reduce_perf"), "--local", "2", "-b", "1K", "-e", "1K", "-N", "0",
                "-n", "1000000000"]
        with subprocess.Popen(argv, env=clean_environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as running:
            said = b""
            while not re.search(rb"\n +1024 .*-1$", said):  # the row has begun
                said += os.read(running.stdout.fileno(), 4096)
            pid = re.search(rb"Rank  1 Group  0 Pid +(\d+)", said).group(1)
            os.kill(int(pid), signal.SIGKILL)
            rest = running.stdout.read()
        self.assertEqual(running.returncode, 1)
        self.assertTrue(rest.startswith(b"\n"), rest)
        self.assertIn(b"\nprocess 1: killed by signal 9\n", rest)

    def test_a_size_beyond_memory_is_lowered(self):
        """The largest size is lowered to what fits, as nccl-tests does. Only the first, small size then runs."""
        run_all = ("ulimit -v 1500000; "
                   f"exec {ARGS.bin / 'all_reduce_perf'} --local 2 -b 4M -e 4000G -f 1024 -n 1 -w 0 -c 0")
        done = subprocess.run(["sh", "-c", run_all], capture_output=True, text=True, timeout=60,
                              env=clean_environment(), check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        lowered = re.search(r"^# Reducing maxBytes to (\d+) due to memory limitation$", done.stdout, re.MULTILINE)
        self.assertTrue(lowered, done.stdout)
        self.assertTrue(10_000_000 < int(lowered[1]) < 400_000_000, done.stdout)
        self.assertEqual(["4194304"], re.findall(r"^ +(\d+) ", done.stdout, re.MULTILINE), done.stdout)

    def test_without_a_folder_to_meet_in_the_way_out_is_named(self):
        done = run(["all_reduce_perf", "--local", "2"], TMPDIR="/proc/self")
        self.assertEqual(1, done.returncode)
        self.assertIn("TMPDIR", done.stderr)

    def test_too_few_descriptors_are_named_at_once(self):
        # The test does not require that the ranks succeed with so few.
        words = f"ulimit -n 16; exec {ARGS.bin / 'all_reduce_perf'} --local 2 -b 1M -e 1M -n 1 --patience 5"
        environment = {**clean_environment(), "NCCL_DEBUG": "WARN"}
        running = subprocess.Popen(["sh", "-c", words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=environment, start_new_session=True)
        try:
            first = running.stderr.readline()
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate(timeout=30)
        self.assertRegex(first, r"may open \d+ more descriptors \(this process may have 16: ulimit -n\)")

    def test_a_bad_variable_ends_all_ranks_soon(self):
        for name, value in [("RAILWEAVE_ALGO", "ring,"), ("RAILWEAVE_ALGO", "rings"), ("RAILWEAVE_PORTS", "9-8")]:
            done = run(["all_reduce_perf", "--local", "3", "--patience", "3000"], **{name: value})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(name, done.stderr)
            self.assertIn(value, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_rank_that_fails_ends_the_others_soon(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        done = run(["all_reduce_perf", "--local", "3", "--patience", "3000"], RAILWEAVE_PORTS=f"{port}-{port}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"^rank \d: .*{port}")

    def test_statistics_that_cannot_be_are_told(self):
        done = run(["all_reduce_perf", "-b", "8", "-e", "8", "-n", "1"], RAILWEAVE_STATS_DIR="/nowhere/at/all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"WARN.*RAILWEAVE_STATS_DIR.*/nowhere/at/all")

    def test_processes_meet_by_the_environment(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        common = {**clean_environment(), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                  "NCCL_SOCKET_IFNAME": "lo"}
        argv = [str(ARGS.bin / "all_reduce_perf"), "-b", "1K", "-e", "1K", "-n", "2"]
        ranks = [subprocess.Popen(argv, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in (1, 0)]
        outputs = [rank.communicate(timeout=60) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], outputs)
        self.assertEqual(outputs[0][0], "")
        self.assertIn("# Collective test concluded: all_reduce_perf", outputs[1][0])

    def test_a_rank_that_does_not_come_is_named(self):
        done = run(["all_reduce_perf", "--patience", "1"], RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                   MASTER_PORT="29871", NCCL_SOCKET_IFNAME="lo")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"rank 1|ranks 1")

    def test_beside_torchruns_own_store_they_meet_two_ports_higher(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            done = run(["all_reduce_perf", "--patience", "1"], RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(port - 2), TORCHELASTIC_USE_AGENT_STORE="True", NCCL_SOCKET_IFNAME="lo")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\b{port}\b.*another job.*a connection that just ended")

    def test_nothing_is_left_of_ranks_that_are_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            argv = [str(ARGS.bin / "all_reduce_perf"), "--local", "2", "-b", "1K", "-e", "1K", "-N", "0"]
            with subprocess.Popen(argv, env={**clean_environment(), "TMPDIR": folder}, text=True,
                                  stdout=subprocess.PIPE) as running:
                while (line := running.stdout.readline()).startswith("#"):
                    pass
                self.assertNotEqual(line, "")
                self.assertEqual(len(os.listdir(folder)), 1)
                running.kill()
                running.stdout.read()  # ends when every process has ended
            self.assertEqual(os.listdir(folder), [])


class Mpirun(unittest.TestCase):
    def setUp(self):
        if subprocess.run(["which", "mpirun"], capture_output=True, check=False).returncode or \
                not (ARGS.bin.parent / "lib" / "railweave-mpi.so").exists():
            self.skipTest("no Open MPI here")

    def test_ranks_come_from_it(self):
        argv = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", "lo", "-np", "3", str(ARGS.bin / "all_gather_perf"),
                "-b", "48K", "-e", "48K", "-n", "2"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False,
                              env={**clean_environment(), "NCCL_SOCKET_IFNAME": "lo"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("#  Rank"), 3)
        self.assertEqual(done.stdout.count("# Collective test concluded"), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="where the programs are")
    parser.add_argument("--update", action="store_true", help="write golden/ anew")
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
