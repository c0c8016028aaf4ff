"""The operation that a rank waits for goes first (docs/internals/scheduler.md, "Order on the wire"). Two hosts in the
lab have rails so slow that only one of two operations issued together can be complete early."""
from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

_PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

import support  # noqa: E402

# The priorities of two operations that are issued together, and the index of the one that is waited for. None: the
# rank only polls is_completed() of both.
_CASES = [("normal", "normal", 0), ("normal", "normal", 1), ("urgent", "bulk", 1), ("normal", "normal", None),
          ("bulk", "urgent", None)]
_FIRST = [0, 1, 1, 0, 1]  # index of the operation that is complete first, for each case
_BYTES = 16 << 20  # output of each rank, half of it from the other rank: 0.07 s over both rails


def _rank() -> None:
    """A rank of the job. Prints for each case the operation that was complete first."""
    import torch
    import torch.distributed as dist

    import railweave

    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    parts = [torch.zeros(_BYTES // dist.get_world_size(), dtype=torch.uint8) for _ in range(2)]
    gathered = [torch.zeros(_BYTES, dtype=torch.uint8) for _ in range(2)]
    for case, (*priorities, waited) in enumerate(_CASES):
        dist.barrier()
        works = []
        for priority, part, all_of_it in zip(priorities, parts, gathered):
            with railweave.hints(priority):
                works.append(dist.all_gather_single(all_of_it, part, async_op=True))
        if waited is not None:
            works[waited].wait()
        while not (over := [at for at, work in enumerate(works) if work.is_completed()]):
            pass
        print("case", case, "over", *over, flush=True)
        for work in works:
            work.wait()
    dist.barrier()
    dist.destroy_process_group()


class OrderTest(unittest.TestCase):
    def test_what_is_waited_for_goes_first(self) -> None:
        done = subprocess.run([sys.executable, str(_PERF.parent / "tools" / "lab"), "run", "--nics", "2",
                               "--rate", "500mbit,500mbit", "--shape", "host", "--",
                               sys.executable, "-B", __file__, "--rank"],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        said = [line.split("] ", 1)[1] for line in done.stdout.splitlines() if line.startswith("[host")]
        self.assertEqual(sorted(2 * [f"case {case} over {first}" for case, first in enumerate(_FIRST)]), sorted(said),
                         done.stdout)


if __name__ == "__main__":
    _rank() if "--rank" in sys.argv else support.main()
