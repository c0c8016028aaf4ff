"""Puts traces of all ranks, and of torch's profiler, on one clock, and draws a step.

    python -m railweave.timeline merge trace-*.json profile-*.json -o all.json     # open it in Perfetto
    python -m railweave.timeline plot trace-*.json -o step.png [--step N]
"""

import argparse
import json
import sys
from pathlib import Path

from railweave._clocks import merged
from railweave._output import naming
from railweave._picture import plot


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m railweave.timeline", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, what in (("merge", "one Chrome trace of all files"), ("plot", "a PNG of one step")):
        one = commands.add_parser(command, help=what)
        one.add_argument("files", nargs="+", metavar="TRACE",
                         help="a file that railweave.trace or torch's profiler wrote")
        one.add_argument("-o", "--output", required=True, metavar="FILE")
        if command == "plot":
            one.add_argument("--step", type=int, metavar="N", help="number of the step (the one in the middle)")
    chosen = parser.parse_args(arguments)
    try:
        whole = merged(chosen.files)
        if chosen.command == "plot":
            more = f" and {len(chosen.files) - 1} more" if len(chosen.files) > 1 else ""
            plot(whole, chosen.output, chosen.step, f"{Path(chosen.files[0]).name}{more}")
        else:
            with naming(chosen.output), open(chosen.output, "w", encoding="utf-8") as file:
                json.dump(whole, file)
    except (OSError, ValueError, ImportError) as error:
        print(f"railweave.timeline: {error}", file=sys.stderr)
        return 1
    print(f"{chosen.command}: {chosen.output}")
    for rank, seconds in whole["clock_error_s"].items():
        if seconds > 0:
            print(f"rank {rank}: its clock is known to {seconds * 1e6:.0f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
