"""Counts the instructions that a transfer of 1 GB costs, and compares them with those of another plugin.

The other plugin is, for example, that of an earlier commit. net_perf sends between two ranks over loopback, with either
plugin in turn. Valgrind's callgrind counts the instructions of the processes, without those of the kernel. The count of
a short transfer is subtracted from that of a long one, which leaves out start and end. Idle ranks sleep, so that few
counted instructions are polls. The rest of the polls vary, so there are many pairs of runs. Prints the median ratio
with its confidence interval.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.steps.paired import paired_ratio  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_SHORT_MB, _RUN_MOST_S = 64, 120
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="instructions_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--plugin", required=True, metavar="FILE",
        help="the plugin to compare with (tools/build-commit builds the plugin of another commit)")
    add("--pairs", type=int, default=10, help="number of runs with each plugin (10)")
    add("--megabytes", type=int, default=4096, help=f"MiB of the long transfer; the short one has {_SHORT_MB} (4096)")
    add("--programs", default=str(_ROOT / "build" / "release" / "bin"), help="folder of net_perf (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    args = parser.parse_args()
    for name, value, least in (("--pairs", args.pairs, 2), ("--megabytes", args.megabytes, 2 * _SHORT_MB)):
        if value < least:
            parser.error(f"{name}: expected {least} or more, found {value}")
    return args


def _instructions(program: Path, plugin: Path, megabytes: int) -> int:
    """Returns the instructions of both ranks, start and end included."""
    with tempfile.TemporaryDirectory(prefix="railweave-instructions-") as folder:
        ran = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/%p", program, "--local",
                              "--plugin", plugin, "--size", "1M", "--inflight", "4", "--sleep-us", "50",
                              "--warmup", "0", "--bytes", f"{megabytes}M"],
                             env={name: value for name, value in os.environ.items()
                                  if name not in ("RANK", "WORLD_SIZE")} | {"RAILWEAVE_RAILS": "lo"},
                             capture_output=True, text=True, timeout=_RUN_MOST_S, check=False)
        totals = [int(total) for file in Path(folder).iterdir() for total in _TOTAL.findall(file.read_text())]
    if ran.returncode or len(totals) < 2:
        raise SystemExit(f"instructions_perf: net_perf with {plugin}: status {ran.returncode}: {ran.stderr[-2000:]}")
    return sum(totals)


def main() -> int:
    args = _parse()
    program = Path(args.programs) / "net_perf"
    plugins = {"ours": program.parent.parent / "lib" / "libnccl-net-railweave.so", "other": Path(args.plugin)}
    if missing := [str(path) for path in (program, *plugins.values()) if not path.exists()]:
        raise SystemExit(f"instructions_perf: not there: {', '.join(missing)}")
    per_gb: dict[str, list[float]] = {side: [] for side in plugins}
    for pair in range(args.pairs):
        for side, plugin in plugins.items():
            moved = _instructions(program, plugin, args.megabytes) - _instructions(program, plugin, _SHORT_MB)
            per_gb[side].append(moved / ((args.megabytes - _SHORT_MB) * 2**20 * 1e-9))
        print(f"{pair + 1} of {args.pairs}: ours {per_gb['ours'][-1] / 1e6:.2f}, "
              f"other {per_gb['other'][-1] / 1e6:.2f} million per GB", flush=True)
    ratio = paired_ratio(per_gb["ours"], per_gb["other"])
    print(f"ours of other: {ratio['median']:.3f} (95 % {ratio['low']:.3f} to {ratio['high']:.3f})")
    summary = {side: median(values) for side, values in per_gb.items()} | {"ours_of_other": ratio}
    if args.json:
        Path(args.json).write_text(json.dumps({"program": "instructions_perf", "summary": summary, "results": [per_gb]},
                                              indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
