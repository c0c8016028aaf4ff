"""Checks that RAILWEAVE_* are valid by making a group of this process alone. Runs before minutes of work."""
from __future__ import annotations

import os
import sys


def main() -> int:
    os.environ.pop("RAILWEAVE_TRACE", None)  # there is nothing to trace
    import torch.distributed as dist
    import railweave  # noqa: F401  registers the backend if torch did not

    try:
        dist.init_process_group("railweave", store=dist.HashStore(), rank=0, world_size=1)
    except Exception as refused:  # noqa: BLE001  torch's own, and ours
        print(str(refused).partition("\n")[0], file=sys.stderr)
        return 1
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
