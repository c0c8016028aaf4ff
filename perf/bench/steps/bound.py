"""The lower bound of a recorded step's time (docs/guide/replay.md, "The bound")."""
from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

_PARAMETERS = Path(__file__).resolve().parents[2] / "programs" / "fsdp_replay" / "parameters.json"


def bound_s(programs: Path, trace: dict[str, Any], gbps: float) -> float:
    """Returns seconds, for two hosts on one wire of `gbps`. `programs`: the folder of fsdp_replay. `trace`: as from
    pieces.trace_of()."""
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder) / "step.json", Path(folder) / "bound.json"
        given.write_text(json.dumps(trace))
        subprocess.run([str(programs / "fsdp_replay"), "--trace", str(given), "--hosts", "2", "--bound",
                        "--wire-gbps", repr(gbps), "--parameters", str(_PARAMETERS), "--json", str(result)],
                       check=True, stdout=subprocess.DEVNULL)
        return json.loads(result.read_text())["results"][0]["bound_ms"] / 1000
