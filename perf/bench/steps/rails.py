"""Sets and measures the lab's rails, for ranks that train over them. REQUIRES: torch.distributed is initialised."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import torch.distributed as dist

from .over_ranks import greatest

_RAW_PORT = 40  # above the ranks' own


def set_rates(mbit: dict[int, int]) -> None:
    """Sets the rates, in Mb/s, of the NICs with these numbers on every host."""
    dist.barrier()
    if dist.get_rank() == 0:
        for nic, rate in mbit.items():
            subprocess.run([os.environ["RWLAB_PROGRAM"], "set", "--nic", str(nic), "--rate", f"{rate}mbit"], check=True)
    dist.barrier()


def raw_gbps(programs: Path) -> float:
    """Returns the sum of raw TCP's rates on all rails, measured one by one. `programs`: the folder of raw_tcp."""
    with tempfile.TemporaryDirectory() as folder:
        port = str(int(os.environ["MASTER_PORT"]) + _RAW_PORT)
        result = Path(folder) / "raw.json"
        subprocess.run([str(programs / "raw_tcp"), "--cc", "cubic", "--duration", "2", "--json", str(result)],
                       check=True, env={**os.environ, "MASTER_PORT": port}, stdout=subprocess.DEVNULL)
        found = json.loads(result.read_text())["summary"]["sum_gbps"] if result.exists() else 0.0
    return greatest(found)
