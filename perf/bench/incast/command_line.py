"""The options that incast_perf and sharing_perf share: the senders, the programs, and the file of the result."""
from __future__ import annotations

import argparse

from . import pairs


def parser(name: str, about: str | None, *, senders: int, size: str, settle_s: float) -> argparse.ArgumentParser:
    """Makes the parser, to which the program adds its own options. The keyword arguments are defaults."""
    made = argparse.ArgumentParser(prog=name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--program", choices=("net_perf", "raw_tcp"), default="net_perf", help="of the senders (net_perf)")
    add("--senders", type=int, default=senders, help=f"processes, on other hosts than the first ({senders})")
    add("--size", default=size, help=f"of their messages, by which net_perf counts arrivals ({size})")
    add("--settle", type=float, default=settle_s, metavar="SECONDS",
        help=f"in which the senders connect, before the first begins ({settle_s:g})")
    add("--programs", default=str(pairs.kRoot / "build" / "release" / "bin"),
        help="folder of net_perf and raw_tcp (build/release/bin)")
    add("--json", help="write what was measured there")
    return made
