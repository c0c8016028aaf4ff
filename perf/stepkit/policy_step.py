"""Steps of the demo's model under one policy, overlapped, made one at a time as standard input asks. One rank, found by RANK,
WORLD_SIZE, MASTER_ADDR, MASTER_PORT; RAILWEAVE_SCHEDULE says the policy. Its parent is policy_perf.py.

For each line on standard input one step is made, and a line of JSON answers: {"seconds": S, "loss": L}.
"""
from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from stepkit import variants  # noqa: E402


def main() -> int:
    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    variant = variants.Variant("overlap", os.environ["RWLAB_NICS"].split(","), int(sys.argv[1]))
    for _ in sys.stdin:
        seconds = variant.step()
        print(json.dumps({"seconds": seconds, "loss": variant.losses[-1]}), flush=True)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
