"""The options that incast_perf and sharing_perf share: the senders, the programs, and the file of the result."""
from __future__ import annotations

import argparse

from . import pairs


def parser(name: str, about: str | None, *, senders: int, size: str, settle_s: float) -> argparse.ArgumentParser:
    """Makes the parser, to which the program adds its own options. The keyword arguments are defaults."""
    made = argparse.ArgumentParser(prog=name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--program", choices=("net_perf", "raw_tcp"), default="net_perf",
        help="the program that sends and receives (net_perf)")
    add("--senders", type=int, default=senders,
        help=f"number of sender processes, which are on all hosts but the first ({senders})")
    add("--size", default=size, help=f"size of the messages; net_perf counts whole messages as they arrive ({size})")
    add("--settle", type=float, default=settle_s, metavar="SECONDS",
        help=f"time in which all senders connect, before the first one sends ({settle_s:g})")
    add("--programs", default=str(pairs.kRoot / "build" / "release" / "bin"),
        help="folder of net_perf and raw_tcp (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    return made
