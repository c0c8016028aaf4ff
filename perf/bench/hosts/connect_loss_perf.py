"""Checks that ranks connect although packets are lost meanwhile.

In each trial, two ranks connect to each other with two channels each. From the start, one host loses all its packets
that have data, for a time drawn from the seed. TCP connections open nevertheless, since packets without data pass. The
program checks that all channels connect within the plugin's own timeout, and measures how soon after the end of the
loss. net_perf compares every byte. Run it by tools/lab run --management, on two hosts: the ranks meet over that
interface."""
from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.faults.rank_programs import RankPrograms  # noqa: E402
from bench.hosts.ended import tail  # noqa: E402
from lab import state  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402
from lab.iproute import nft  # noqa: E402
from lab.plan import Host  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_TABLE = "rwlab_data"
_LARGEST_EMPTY_BYTES = 100  # IP and TCP headers with all options


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="connect_loss_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--trials", type=int, default=30, help="number of trials (30)")
    add("--seed", type=int, default=1, help="seed of the losses' lengths and hosts (1)")
    add("--least", type=float, default=1.0, metavar="SECONDS", help="least length of a loss (1)")
    add("--most", type=float, default=15.0, metavar="SECONDS", help="greatest length of a loss (15)")
    add("--programs", type=Path, default=_ROOT / "build" / "release" / "bin",
        help="folder of net_perf (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    return parse_in_lab(parser, by="tools/lab run --management")


def _lose_data(host: Host) -> None:
    """Drops packets with data: a write's last packet has PSH, and a large packet has data."""
    chain = f"chain out {{\n type filter hook output priority 0;\n{_rules(host)} }}\n"
    nft(host.ns, f"table inet {_TABLE} {{\n {chain}}}\n")


def _rules(host: Host) -> str:
    return "".join(f' oifname "{nic.name}" {match} drop\n' for nic in host.nics
                   for match in (f"meta l4proto tcp meta length > {_LARGEST_EMPTY_BYTES}", "tcp flags & psh == psh"))


def _pass_data(host: Host) -> None:
    nft(host.ns, f"delete table inet {_TABLE}\n")


def _trial(ranks: RankPrograms, args: argparse.Namespace, number: int) -> dict:
    """Runs a trial, on rank 0."""
    chance = random.Random(f"{args.seed} {number}")
    host = chance.choice(state.load(os.environ["RWLAB"]).hosts)
    lasts_s = chance.uniform(args.least, args.most)
    _lose_data(host)
    began_s = time.monotonic()
    ends = threading.Timer(lasts_s, _pass_data, [host])
    running = ranks.begin("net_perf", *_load())
    ends.start()
    document, said = ranks.end(running)
    took_s = time.monotonic() - began_s
    ends.join()
    return {"host": host.ns.rpartition("host")[2], "lasts_s": lasts_s, "took_s": took_s, "late_s": took_s - lasts_s,
            "failed": document is None, "wrong": 0 if document is None else document["results"][0]["verify"]["errors"],
            "said": tail(said) if document is None else ""}


def _load() -> list[str]:
    return ["--both", "--comms", "2", "--bytes", "4M", "--warmup", "0", "--verify", "--sleep-us", "50"]


def main() -> int:
    args = _parse()
    trials = []
    with tempfile.TemporaryDirectory(prefix="connect-loss-") as folder:
        ranks = RankPrograms(args.programs, Path(folder))
        for number in range(args.trials):
            if os.environ["RANK"] != "0":
                ranks.end(ranks.begin("net_perf", *_load()))
                continue
            trials.append({"number": number, **_trial(ranks, args, number)})
            last = trials[-1]
            print(f"{number}: lost for {last['lasts_s']:.1f} s, done {last['late_s']:.1f} s later, "
                  f"{'FAILED' if last['failed'] else 'no error'}", file=sys.stderr, flush=True)
    if trials:
        summary = {"errors": sum(trial["failed"] for trial in trials),
                   "wrong_bytes": sum(trial["wrong"] for trial in trials),
                   "late_worst_s": max(trial["late_s"] for trial in trials)}
        write_result({"seed": args.seed, "trials": trials, "summary": summary}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
