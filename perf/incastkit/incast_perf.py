"""Many processes send into one host's rail at once: what comes in of all together, and how evenly. One rank per host, found by
RANK and what perf/lab sets: host 0 receives, the others have the senders. Each sender is a net_perf or raw_tcp of its own, with a
receiver of its own on host 0: so many instances there, which know nothing of one another.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from incastkit import fairness  # noqa: E402
from labkit.inside import parse_in_lab, tell  # noqa: E402

_ROOT = Path(__file__).resolve().parents[2]
_SLEEP_US = 500  # so many processes cannot all spin
_PATIENCE_S = 60.0
_WARMUP_S = 2.0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="incast_perf", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--program", choices=("net_perf", "raw_tcp"), default="net_perf", help="(net_perf)")
    add("--senders", type=int, default=32, help="processes, on all hosts but the first (32)")
    add("--size", default="256K", help="of messages, by which arrivals are counted (256K)")
    add("--settle", type=float, default=8.0, metavar="SECONDS", help="until all are connected; then they begin at once (8)")
    add("--scattered", action="store_true", help="each begins when it is connected, while others send")
    add("--duration", type=float, default=12.0, metavar="SECONDS", help="that each measures (12)")
    add("--programs", default=str(_ROOT / "build" / "release" / "bin"), help="folder of net_perf and raw_tcp (build/release/bin)")
    add("--json", help="write what was measured there")
    args = parse_in_lab(parser)
    if int(os.environ["WORLD_SIZE"]) < 2 or args.senders < 1:
        parser.error("expected a sender at least, and a host for it")
    return args


def _agree(folder: Path, rank: int, settle_s: float) -> float:
    """The second of CLOCK_MONOTONIC, one for all hosts of a lab, at which all begin."""
    file = folder / "begin"
    if rank == 0:
        begin_s = time.monotonic() + settle_s
        (folder / "begin.new").write_text(repr(begin_s))
        (folder / "begin.new").rename(file)
        return begin_s
    until = time.monotonic() + _PATIENCE_S
    while not file.exists():
        if time.monotonic() > until:
            raise SystemExit("incast_perf: host 0 does not come")
        time.sleep(0.02)
    return float(file.read_text())


def _start(args: argparse.Namespace, number: int, rank: int, begin_s: float, folder: Path) -> subprocess.Popen:
    """One end of the pair `number`: rank 0 sends, and is where both meet."""
    host = 1 + number % (int(os.environ["WORLD_SIZE"]) - 1)
    address = os.environ["RWLAB_ADDRESSES"].split(";")[host].split(",")[0]
    environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": address,
                   "MASTER_PORT": str(int(os.environ["MASTER_PORT"]) + 1 + number)}
    options = ["--size", args.size, "--warmup", str(_WARMUP_S), "--begin-at", str(0 if args.scattered else begin_s), "--duration", str(args.duration), "--interval-ms", "100",
               "--sleep-us", str(_SLEEP_US), "--json", str(folder / f"{number}.json")]
    more = ["--cc", "cubic"] if args.program == "raw_tcp" else ["--inflight", "4"]
    return subprocess.Popen([str(Path(args.programs) / args.program), *options, *more], env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _end(running: list[subprocess.Popen], within_s: float) -> int:
    """How many failed; what they said goes on."""
    failed, until = 0, time.monotonic() + within_s
    for process in running:
        try:
            _, said = process.communicate(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
        if process.returncode != 0:
            failed += 1
            print(said, file=sys.stderr, end="", flush=True)
    return failed


def _summary(documents: list[dict]) -> dict:
    arrivals = [fairness.arrivals(document["results"][0]) for document in documents]
    found = fairness.bins(arrivals)
    begun = [one.at_s[0] for one in arrivals]
    indices = [fairness.jain(shares) for shares in found]
    return {"senders": len(documents), "begun_within_s": max(begun) - min(begun), "bins": len(found), "goodput_gbps": fairness.gbps(found),
            "jain_least": min(indices, default=0.0), "jain_median": median(indices) if indices else 0.0, "jain": indices,
            "megabytes": [[round(share / 1e6, 3) for share in shares] for shares in found]}


def main() -> int:
    args = _parse()
    rank, hosts = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    folder = Path(tempfile.gettempdir()) / f"incast-{os.environ['RWLAB']}"
    folder.mkdir(exist_ok=True)
    mine = [number for number in range(args.senders) if rank in (0, 1 + number % (hosts - 1))]
    begin_s = _agree(folder, rank, args.settle)
    running = [_start(args, number, 1 if rank == 0 else 0, begin_s, folder) for number in mine]
    failed = _end(running, args.settle + args.duration + _PATIENCE_S)
    if rank != 0:
        return 1 if failed else 0
    files = [folder / f"{number}.json" for number in mine]
    until = time.monotonic() + _PATIENCE_S / 4
    while not failed and not all(file.exists() and file.read_text().endswith("}\n") for file in files) and time.monotonic() < until:
        time.sleep(0.05)
    try:
        if failed:
            raise SystemExit(f"incast_perf: {failed} of {args.senders} receivers failed")
        summary = _summary([json.loads(file.read_text()) for file in files])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tell({"program": args.program, "summary": summary}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
