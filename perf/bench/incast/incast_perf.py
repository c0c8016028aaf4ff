"""Measures an incast: how much and how evenly one rail receives from many senders at once.

Host 0 receives; the other hosts have the senders. Each sender is a net_perf or raw_tcp process with a receiver process
of its own on host 0, so the receivers do not share an engine. With --processes, several receivers of net_perf share a
process, as communicators of one NCCL process do. Run it by tools/lab run.
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.incast import command_line, fairness, pairs  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402

_SLEEP_US = 500  # this many processes cannot all spin
_WARMUP_S = 2.0


def _parse() -> argparse.Namespace:
    parser = command_line.parser("incast_perf", __doc__, senders=32, size="256K", settle_s=8.0)
    parser.add_argument("--scattered", action="store_true",
                        help="each sender begins once it is connected; without this option all begin together")
    parser.add_argument("--duration", type=float, default=12.0, metavar="SECONDS",
                        help="time that each sender sends (12)")
    parser.add_argument("--processes", type=int, metavar="N",
                        help="number of receiver processes on host 0 (one for each sender)")
    args = parse_in_lab(parser)
    if int(os.environ["WORLD_SIZE"]) < 2 or args.senders < 1:
        parser.error("expected a sender at least, and a host for it")
    if args.processes is None:
        args.processes = args.senders
    least = args.senders if args.program == "raw_tcp" else 1  # a raw_tcp receives from one sender
    if not least <= args.processes <= args.senders:
        parser.error(f"--processes: found {args.processes}, expected {least} to {args.senders} of {args.program}")
    return args


def _start(args: argparse.Namespace, all_pairs: list[pairs.Pair], rank: int, folder: Path) -> list[subprocess.Popen]:
    """Starts this host's processes."""
    if rank == 0:
        return [pairs.start_receivers(together, args.programs, folder)
                for together in pairs.spread(all_pairs, args.processes)]
    return [pairs.start(pair, args.programs, rank, folder) for pair in all_pairs if pair.host == rank]


def _summary(documents: list[dict]) -> dict:
    arrivals = [fairness.arrivals(document["results"][0]) for document in documents]
    found = fairness.bins(arrivals)
    begun = [one.at_s[0] for one in arrivals]
    indices = [fairness.jain(shares) for shares in found]
    return {"senders": len(documents), "begun_within_s": max(begun) - min(begun), "bins": len(found),
            "goodput_gbps": fairness.gbps(found), "jain_least": min(indices, default=0.0),
            "jain_median": median(indices) if indices else 0.0, "jain": indices,
            "megabytes": [[round(share / 1e6, 3) for share in shares] for shares in found]}


def main() -> int:
    args = _parse()
    rank, hosts = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    folder = pairs.folder("incast")
    begin_s = pairs.agree(folder, rank, args.settle)
    options = pairs.load(args.program, args.size, args.duration, warmup_s=_WARMUP_S,
                         begin_at_s=0 if args.scattered else begin_s, sleep_us=_SLEEP_US)
    all_pairs = [pairs.Pair(number, 1 + number % (hosts - 1), args.program, options) for number in range(args.senders)]
    failed = pairs.end(_start(args, all_pairs, rank, folder), args.settle + args.duration + pairs.kPatience_s)
    if rank != 0:
        return 1 if failed else 0
    try:
        if failed:
            raise SystemExit(f"incast_perf: {failed} of {args.processes} processes with receivers failed")
        documents = pairs.results([pair.number for pair in all_pairs], folder, pairs.kPatience_s / 4)
        if len(documents) < args.senders:
            raise SystemExit(f"incast_perf: {args.senders - len(documents)} of {args.senders} senders left no result")
        summary = _summary(list(documents.values()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    write_result({"program": args.program, "summary": summary}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
