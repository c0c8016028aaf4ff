"""The command line of perf/lab."""
from __future__ import annotations

import argparse
import json
import os
import sys

from . import faults, run, shaping, state
from .iproute import CommandError
from .plan import Host, Nic, Plan
from .spec import SpecError, make_spec, parse_rate

_ABOUT = """\
Turns this machine into several hosts with several NICs: hosts are network namespaces, NICs are veth pairs with a token
bucket. `run` makes them, runs CMD once per host and removes everything again, however it ends.

Namespaces need root. Without it `run` says so and goes over loopback (as with --loopback): no NICs, no rates."""

_RUN_ABOUT = """\
Runs CMD once per host (see --ranks-per-host). Each sees only its host's NICs, in /sys/class/net too, and has its own
host name. Its environment holds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
NCCL_SOCKET_IFNAME (exactly the lab's NICs), and RWLAB (this lab's name, for `perf/lab set`), RWLAB_PROGRAM (this
program), RWLAB_NICS (eth0,eth1) and RWLAB_ADDRESSES (by host, separated by `;`, then by NIC, separated by `,`).
Exit status: the worst of all; 124 after --timeout, 125 if the lab could not be made, 128 + signal if stopped.

A token bucket lets max(16 KiB, rate x 1 ms) pass unshaped after an idle time (once `perf/lab set` has changed its rate, at
least 68 KiB), so measuring programs send at least twice that before they time (net_perf and raw_tcp do, by --warmup)."""


def _add_run(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("run", help="make a lab, run CMD in every host", description=_RUN_ABOUT,
                                 formatter_class=argparse.RawDescriptionHelpFormatter,
                                 usage="perf/lab run [options] -- CMD ...",
                                 epilog="For example: perf/lab run --rate 2gbit,1gbit -- build/release/bin/net_perf --size 1M")
    add = parser.add_argument
    add("--hosts", type=int, default=2, help="number of hosts (2)")
    add("--nics", default="2", metavar="N[,N...]", help="NICs per host, one number or one per host: 2,4 (2)")
    add("--rate", metavar="R[,R...]", help="rate per NIC, repeated as needed: 2gbit,1gbit; `/` separates hosts: "
        "2gbit/1gbit (default: unshaped)")
    add("--shape", choices=["host", "switch"], default="host", help="host: the bucket is on the host's own egress, 50 ms of "
        "queue; switch: on the switch's egress toward the host, 2 MiB of buffer (host)")
    add("--subnets", choices=["disjoint", "shared"], default="disjoint",
        help="disjoint: NIC n is in subnet n modulo the smallest number of NICs; shared: all in one (disjoint)")
    add("--ipv6", action="store_true", help="IPv6 addresses only")
    add("--names", default="eth", metavar="P[,P...]", help="NIC name prefix, one or one per host: eth,ens (eth)")
    add("--mtu", type=int, default=1500, metavar="BYTES", help="(1500)")
    add("--arp", choices=["strict", "flux"], default="strict",
        help="flux: Linux's default, any NIC answers for any address of its host (strict)")
    add("--cc", default="cubic", help="TCP congestion control in every host (cubic); it is added to what this machine allows")
    add("--cut", action="append", default=[], metavar="HOST:NIC", help="no traffic on this NIC from the start, carrier up")
    add("--ranks-per-host", type=int, default=1, metavar="N", help="(1)")
    add("--pid-namespaces", action="store_true", help="every rank is pid 1 of its own pid namespace")
    add("--favour", action="store_true", help="the ranks go before everything else on this machine: for measuring while it "
        "does other things (needs root)")
    add("--timeout", type=float, default=0, metavar="SECONDS", help="end all ranks after this long (0: never)")
    add("--loopback", action="store_true", help="no namespaces: host h is 127.0.h.1 on this machine (taken by itself where "
        "namespaces cannot be made)")
    add("command", nargs=argparse.REMAINDER, metavar="-- CMD ...")
    parser.set_defaults(action=_run)


def _add_set(commands: argparse._SubParsersAction) -> None:
    parser = commands.add_parser("set", help="change a NIC of a running lab",
                                 description="Changes one NIC of a running lab, in mid-traffic.",
                                 epilog="For example: perf/lab set --host 0 --nic 1 --rate 100mbit")
    add = parser.add_argument
    add("--lab", default=os.environ.get("RWLAB"), metavar="NAME", help="default: $RWLAB, else the only one there is")
    add("--host", type=int, metavar="H", help="default: every host")
    add("--nic", type=int, required=True, metavar="N")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--rate", metavar="R", help="100mbit; `none` lifts the shaping")
    what.add_argument("--down", action="store_true", help="take the interface down, as its operator would")
    what.add_argument("--cut", action="store_true", help="drop all its packets, both ways; the carrier stays up")
    what.add_argument("--cut-out", action="store_true", help="the same one way: what the host sends is lost")
    what.add_argument("--switch-down", action="store_true", help="the switch of its subnet forwards nothing; no carrier is lost")
    what.add_argument("--reset", action="store_true", help="abort its TCP connections, with a RST to the other ends")
    what.add_argument("--up", action="store_true", help="undo all these, at the rate the lab started with")
    parser.set_defaults(action=_set)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="perf/lab", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    _add_set(commands)
    enter = commands.add_parser("exec", help="run one more command inside a host of a running lab",
                                description="Runs CMD inside one host of a running lab, where it sees that host's "
                                "NICs. Exit status: CMD's.", usage="perf/lab exec [--lab NAME] [--host H] -- CMD ...",
                                epilog="For example: perf/lab exec --host 1 -- ss -tin")
    enter.add_argument("--lab", default=os.environ.get("RWLAB"), metavar="NAME", help="default: $RWLAB, else the only one there is")
    enter.add_argument("--host", type=int, default=0, metavar="H", help="(0)")
    enter.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD ...")
    enter.set_defaults(action=_exec)
    show = commands.add_parser("list", help="living labs, their hosts and NICs, as JSON",
                               description="Prints the labs that live and their plans: a JSON object, by name.")
    show.set_defaults(action=lambda _: print(json.dumps(state.living(), indent=1)) or 0)
    clean = commands.add_parser("clean", help="remove what labs left behind whose processes are all gone",
                                description="Removes the namespaces and files of labs whose processes, the guardian "
                                "too, are all gone, and names them. The next `run` does the same.")
    clean.set_defaults(action=_clean)
    return parser


def _after_dashes(words: list[str]) -> list[str]:
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise SpecError("no command given: expected `-- CMD ...` at the end")
    return command


def _cut(text: str, nics: tuple[int, ...]) -> tuple[int, int]:
    try:
        host, nic = (int(part) for part in text.split(":"))
    except ValueError:
        raise SpecError(f"--cut '{text}': expected HOST:NIC, such as 0:1") from None
    if not (0 <= host < len(nics) and 0 <= nic < nics[host]):
        raise SpecError(f"--cut '{text}': no such NIC")
    return host, nic


def _run(args: argparse.Namespace) -> int:
    if not 1280 <= args.mtu <= 65535:
        raise SpecError(f"--mtu {args.mtu}: 1280 to 65535")
    if args.ranks_per_host < 1 or args.timeout < 0:
        raise SpecError("--ranks-per-host is at least 1, --timeout at least 0")
    spec = make_spec(args.hosts, args.nics, args.rate, args.names, shape=args.shape, subnets=args.subnets, ipv6=args.ipv6,
                     arp=args.arp, mtu_bytes=args.mtu, cc=args.cc)
    return run.run(run.Request(spec, _after_dashes(args.command), args.loopback, args.ranks_per_host, args.pid_namespaces,
                               args.favour, args.timeout, [_cut(text, spec.nics) for text in args.cut]))


def _nics(plan: Plan, host: int | None, nic: int) -> list[tuple[Host, Nic]]:
    if not plan.hosts:
        raise SpecError("this lab runs over loopback: it has no NICs to change")
    if host is not None and not 0 <= host < len(plan.hosts):
        raise SpecError(f"--host {host}: 0 to {len(plan.hosts) - 1}")
    chosen = plan.hosts if host is None else [plan.hosts[host]]
    found = [(one, one.nics[nic]) for one in chosen if 0 <= nic < len(one.nics)]
    if not found:
        raise SpecError(f"--nic {nic}: no such NIC")
    return found


def _set(args: argparse.Namespace) -> int:
    plan = state.load(args.lab)
    for host, nic in _nics(plan, args.host, args.nic):
        if args.rate:
            shaping.set_rate(plan, host, nic, None if args.rate == "none" else parse_rate(args.rate))
        elif args.cut:
            faults.cut(host, nic)
        elif args.cut_out:
            faults.cut_out(host, nic)
        elif args.switch_down:
            faults.take_switch_down(plan, nic)
        elif args.reset:
            faults.reset(host, nic)
        elif args.down:
            faults.take_down(host, nic)
        else:
            faults.restore(plan, host, nic)
    return 0


def _exec(args: argparse.Namespace) -> int:
    plan = state.load(args.lab)
    if not 0 <= args.host < len(plan.hosts):
        raise SpecError(f"--host {args.host}: this lab has {len(plan.hosts)} hosts in namespaces")
    os.execvp("ip", ["ip", "netns", "exec", plan.hosts[args.host].ns, *_after_dashes(args.command)])


def _clean(_: argparse.Namespace) -> int:
    for name in state.clean_leftovers():
        print(f"removed {name}")
    return 0


def main(argv: list[str]) -> int:
    """Exit status; 2 for a bad command line."""
    args = _parser().parse_args(argv)
    try:
        return args.action(args)
    except (SpecError, state.NoSuchLab) as error:
        print(f"perf/lab: {error}", file=sys.stderr)
        return 2
    except CommandError as error:
        print(f"perf/lab: {error}", file=sys.stderr)
        return 1
