#!/usr/bin/env python3
"""raw_tcp over one Multipath TCP connection that may use every NIC of the lab's host. One rank, found by RANK and what
tools/lab sets. Options beside --programs are raw_tcp's.

Rank 1 announces its other addresses to the kernel's path manager, each with a TCP port, on which the kernel listens
itself: raw_tcp's own listener is bound to the first address and would refuse the second subflow. Rank 0 accepts the
announced addresses.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

_PROGRAMS = Path(__file__).resolve().parents[3] / "build" / "release" / "bin"
_SUBFLOWS = "8"  # the kernel's maximum
_PORT = "6001"  # in namespaces of the lab no other program uses it


def path_manager(rank: int, nics: list[str], addresses: list[str]) -> list[list[str]]:
    """Returns the commands that let a connection over the first NIC use the others as well."""
    limits = ["ip", "mptcp", "limits", "set", "subflow", _SUBFLOWS, "add_addr_accepted", _SUBFLOWS]
    if rank == 0:
        return [limits]
    return [limits, *(["ip", "mptcp", "endpoint", "add", address, "dev", nic, "port", _PORT, "signal"]
                      for nic, address in list(zip(nics, addresses))[1:])]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="mptcp_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, default=_PROGRAMS, metavar="DIR",
                        help="folder of raw_tcp (build/release/bin)")
    args, rest = parser.parse_known_args(argv)
    missing = [name for name in ("RANK", "RWLAB_NICS", "RWLAB_ADDRESSES") if name not in os.environ]
    if missing:
        parser.error(f"{', '.join(missing)} not set: run the program by tools/lab run")
    rank, nics = int(os.environ["RANK"]), os.environ["RWLAB_NICS"].split(",")
    subprocess.run(["ip", "mptcp", "endpoint", "flush"], check=False)  # of an earlier run in this lab
    for command in path_manager(rank, nics, os.environ["RWLAB_ADDRESSES"].split(";")[rank].split(",")):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"mptcp_perf: {' '.join(command)}: {done.stderr.strip()}; expected a kernel with CONFIG_MPTCP",
                  file=sys.stderr)
            return 1
    program = str(args.programs / "raw_tcp")
    os.execv(program, [program, "--mptcp", "--rails", f"={nics[0]}", *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
