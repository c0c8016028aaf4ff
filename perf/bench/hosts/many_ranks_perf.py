"""Checks that jobs of many ranks on few cores connect within the plugin's own timeout.

All jobs start together. Each job is an all-to-all of 16 KiB over TCP between processes of this machine. The program
needs no lab and runs once, not once per rank."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.hosts.ended import tail  # noqa: E402
from lab.inside import write_result  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_PATIENCE_S = 240.0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="many_ranks_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ranks", type=int, default=64, help="number of ranks of each job (64)")
    add("--jobs", type=int, default=1, help="number of jobs at once (1)")
    add("--cores", type=int, default=1, help="number of cores that all jobs share: the first ones of this machine (1)")
    add("--programs", type=Path, default=_ROOT / "build" / "release" / "bin",
        help="folder of alltoall_perf (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    return parser.parse_args()


def _start(args: argparse.Namespace, cores: set[int]) -> subprocess.Popen:
    argv = [str(args.programs / "alltoall_perf"), "--local", str(args.ranks), "-b", "16K", "-e", "16K", "-n", "2",
            "-w", "1"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0,
                            env={**os.environ, "RAILWEAVE_SHM": "off", "NCCL_SOCKET_IFNAME": "=lo",
                                 "NCCL_DEBUG": "WARN"},
                            preexec_fn=lambda: os.sched_setaffinity(0, cores))


def _end(job: subprocess.Popen, give_up_s: float) -> dict:
    try:
        said, _ = job.communicate(timeout=max(1.0, give_up_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, 9)
        said = job.communicate()[0] + f"it hangs: ended after {_PATIENCE_S:g} s"
    warned = sum("WARN" in line for line in said.splitlines())
    return {"status": job.returncode, "warnings": warned, "said": tail(said) if job.returncode else ""}


def main() -> int:
    args = _parse()
    cores = set(sorted(os.sched_getaffinity(0))[:args.cores])
    began_s = time.monotonic()
    running = [_start(args, cores) for _ in range(args.jobs)]
    jobs = [_end(job, began_s + _PATIENCE_S) for job in running]
    summary = {"errors": sum(job["status"] != 0 for job in jobs), "seconds": time.monotonic() - began_s,
               "warnings": sum(job["warnings"] for job in jobs)}
    for job in jobs:
        print(job["said"], file=sys.stderr, end="")
    write_result({"jobs": jobs, "summary": summary}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
