"""Checks that a long transfer on a busy machine loses no lane without a fault.

net_perf sends and compares every byte, while four other processes keep the cores busy. The program counts the lanes
that the plugin gives up, and the share of control frames that the plugin sends again. Both should be 0 or almost 0.
Run it by tools/lab run, on two hosts."""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.faults.mailbox import Mailbox  # noqa: E402
from bench.faults.rank_programs import RankPrograms  # noqa: E402
from bench.hosts.ended import tail  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_BUSY = 2  # at each of the two ranks
_PATIENCE_S = 60.0
# WARN lines of the plugin about a lane that was given up. The first kind is from engine/rails/rail_log.cc, the second
# from engine/session/session_lanes_end.cc.
_GIVEN_UP = re.compile(r"WARN .*: (rail .*; \d+ of \d+ lanes left|lane \d+ to .* on rail .* given up: .*)")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="false_alarm_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--seconds", type=float, default=300, help="length of the transfer (300)")
    add("--programs", type=Path, default=_ROOT / "build" / "release" / "bin",
        help="folder of net_perf (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    add("--load", default="--both", metavar="OPTIONS",
        help="options for net_perf, quoted as one word: --load='--both --comms 4' (--both)")
    return parse_in_lab(parser)


@contextmanager
def _busy() -> Iterator[None]:
    spinning = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(_BUSY)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def _given_up(said: str) -> list[str]:
    return [line for line in said.splitlines() if _GIVEN_UP.fullmatch(line)]


def _summary(document: dict | None, given_up: list[list[str]]) -> dict:
    """`given_up`: by rank."""
    found = {"errors": int(document is None), "lanes_lost": sum(map(len, given_up)), "wrong_bytes": 0,
             "said_again_share": 0.0}
    if document is None:
        return found
    result = document["results"][0]
    engines = [rank["engine"] for rank in result["ranks"]]
    frames, again = (sum(engine[name] for engine in engines)
                     for name in ("control_frames", "control_frames_said_again"))
    return {**found, "wrong_bytes": result["verify"]["errors"], "control_frames": frames, "said_again": again,
            "said_again_share": again / max(frames, 1)}


def main() -> int:
    args = _parse()
    mailbox = Mailbox(_PATIENCE_S)
    with tempfile.TemporaryDirectory(prefix="false-alarm-") as folder, _busy():
        ranks = RankPrograms(args.programs, Path(folder))
        running = ranks.begin("net_perf", "--verify", "--sleep-us", "50", "--duration", str(args.seconds),
                              *args.load.split())
        document, said = ranks.end(running, args.seconds + _PATIENCE_S)
    mailbox.send("outcome", {"given_up": _given_up(said), "said": tail(said)})
    if os.environ["RANK"] != "0":
        mailbox.receive("received")
        mailbox.close()
        return 0
    other = mailbox.receive("outcome")
    given_up = [_given_up(said), other["given_up"]]
    write_result({"seconds": args.seconds, "load": args.load, "given_up": given_up,
                  "said": [tail(said), other["said"]] if document is None else [],
                  "summary": _summary(document, given_up)}, args.json)
    mailbox.send("received", True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
