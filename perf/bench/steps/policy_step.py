"""Makes overlapped steps of the demo's model under one policy, one for each request on standard input. One rank, found
by RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; RAILWEAVE_SCHEDULE has the policy. Started by policy_perf.py.

Each line on standard input makes one step and is answered by a line of JSON: {"seconds": S, "losses": [L, ...]}, of the
slowest rank and of every rank. The line "traced" traces the step and adds "in_flight_operations", the most at once on
any rank."""
from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import railweave  # noqa: E402

from bench.steps import variants  # noqa: E402
from bench.steps.over_ranks import greatest, of_every_rank  # noqa: E402


def main() -> int:
    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    variant = variants.Variant("overlap", os.environ["RWLAB_NICS"].split(","), int(sys.argv[1]))
    for line in sys.stdin:
        traced = line.strip() == "traced"
        with railweave.trace(None) if traced else nullcontext():
            seconds = variant.step()
        answer = {"seconds": greatest(seconds), "losses": of_every_rank(variant.losses[-1])}
        if traced:
            answer["in_flight_operations"] = max(rank["in_flight_operations"]
                                                 for rank in railweave.report()[0]["ranks"])
        print(json.dumps(answer), flush=True)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
