"""The lab's rails, as ranks that train over them set and measure them. torch.distributed is up."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import torch.distributed as dist

from .over_ranks import greatest

_RAW_PORT = 40  # behind the ranks' own


def set_rates(mbit: dict[int, int]) -> None:
    """Of the NICs with these numbers, on every host, in Mb/s."""
    dist.barrier()
    if dist.get_rank() == 0:
        for nic, rate in mbit.items():
            subprocess.run([os.environ["RWLAB_PROGRAM"], "set", "--nic", str(nic), "--rate", f"{rate}mbit"], check=True)
    dist.barrier()


def raw_gbps(programs: Path) -> float:
    """What raw TCP carries over all rails, one by one. `programs`: the folder of raw_tcp."""
    with tempfile.TemporaryDirectory() as folder:
        port = str(int(os.environ["MASTER_PORT"]) + _RAW_PORT)
        result = Path(folder) / "raw.json"
        subprocess.run([str(programs / "raw_tcp"), "--cc", "cubic", "--duration", "2", "--json", str(result)],
                       check=True, env={**os.environ, "MASTER_PORT": port}, stdout=subprocess.DEVNULL)
        found = json.loads(result.read_text())["summary"]["sum_gbps"] if result.exists() else 0.0
    return greatest(found)
