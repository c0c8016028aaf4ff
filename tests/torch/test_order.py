"""What is waited for goes first (docs/scheduler.md, "Order on the wire"): two hosts in the lab, whose rails are slow enough that of two
operations issued together only one can be over early."""
from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

_PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

import support  # noqa: E402

_CASES = [("normal", "normal", 0), ("normal", "normal", 1), ("urgent", "bulk", 1)]
_BYTES = 16 << 20  # that each rank gets: 0.13 s at 500 Mb/s


def _rank() -> None:
    """A rank of the job: of each case, whether the operation that was waited for was over before the other one."""
    import torch
    import torch.distributed as dist

    import railweave

    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    parts = [torch.zeros(_BYTES // dist.get_world_size(), dtype=torch.uint8) for _ in range(2)]
    gathered = [torch.zeros(_BYTES, dtype=torch.uint8) for _ in range(2)]
    for *priorities, waited in _CASES:
        dist.barrier()
        works = []
        for priority, part, all_of_it in zip(priorities, parts, gathered):
            with railweave.hints(priority):
                works.append(dist.all_gather_single(all_of_it, part, async_op=True))
        works[waited].wait()
        other_was_over = works[1 - waited].is_completed()
        works[1 - waited].wait()
        print("other over" if other_was_over else "first", flush=True)
    dist.barrier()
    dist.destroy_process_group()


class OrderTest(unittest.TestCase):
    def test_what_is_waited_for_goes_first(self) -> None:
        done = subprocess.run([sys.executable, str(_PERF / "lab"), "run", "--nics", "2", "--rate", "500mbit,500mbit", "--shape", "host", "--",
                               sys.executable, "-B", __file__, "--rank"], capture_output=True, text=True, timeout=120, check=False,
                              env=dict(os.environ))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        said = [line.split("] ", 1)[1] for line in done.stdout.splitlines() if line.startswith("[host")]
        self.assertEqual(["first"] * 2 * len(_CASES), said, done.stdout)


if __name__ == "__main__":
    _rank() if "--rank" in sys.argv else support.main()
