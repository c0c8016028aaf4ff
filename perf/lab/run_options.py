"""The options of `tools/lab run`."""
from __future__ import annotations

import argparse

from . import run
from .spec import SpecError, kSwitchBufferBytes, make_spec, parse_nic

_ABOUT = """\
Runs CMD once per host (see --ranks-per-host). Each sees only its host's NICs, in /sys/class/net too, and has its own
host name. Its environment holds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
NCCL_SOCKET_IFNAME (exactly the lab's NICs), and RWLAB (this lab's name, for `tools/lab set`), RWLAB_PROGRAM (this
program), RWLAB_NICS (eth0,eth1) and RWLAB_ADDRESSES (by host, separated by `;`, then by NIC, separated by `,`).
Exit status: the worst of all; 124 after --timeout, 125 if the lab could not be made, 128 + signal if stopped.

Hosts are as Linux ships them: arp_ignore 0, arp_announce 0, rp_filter 0, link-local IPv6 addresses beside IPv4.

A token bucket lets max(16 KiB, rate x 1 ms) pass unshaped after an idle time (once `tools/lab set` has changed its
rate, at least 68 KiB), so measuring programs send at least twice that before they time (net_perf and raw_tcp do, by
--warmup)."""


def add(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser("run", help="make a lab, run CMD in every host", description=_ABOUT,
                                 formatter_class=argparse.RawDescriptionHelpFormatter,
                                 usage="tools/lab run [options] -- CMD ...",
                                 epilog="For example: "
                                        "tools/lab run --rate 2gbit,1gbit -- build/release/bin/net_perf --size 1M")
    _add_shape(parser.add_argument_group("hosts, NICs and what is between them"))
    _add_kernel(parser.add_argument_group("the kernel of every host"))
    _add_ranks(parser.add_argument_group("what runs"))
    return parser


def _add_shape(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--hosts", type=int, default=2, help="number of hosts (2)")
    add("--nics", default="2", metavar="N[,N...]", help="NICs per host, one number or one per host: 2,4 (2)")
    add("--rate", metavar="R[,R...]", help="rate per NIC, repeated as needed: 2gbit,1gbit; `/` separates hosts: "
        "2gbit/1gbit (default: unshaped)")
    add("--shape", choices=["host", "switch", "both"], default="host",
        help="host: the bucket is on the host's own egress, 50 ms of queue; "
        "switch: on the switch's egress toward the host, with a --buffer; both: both (host)")
    add("--buffer", type=int, default=kSwitchBufferBytes, metavar="BYTES",
        help="buffer of each shaped port of a switch or router (2 MiB)")
    add("--network", choices=["auto", "rails", "one-switch", "routed"], default="auto",
        help="rails: a switch per rail; one-switch: all NICs of all hosts at one; "
        "routed: a router, every NIC in a subnet of its own with a gateway; "
        "auto: one-switch where --subnets is shared, direct cables where two equal hosts need no more, else rails")
    add("--subnets", choices=["disjoint", "shared"], default="disjoint",
        help="disjoint: NIC n is in subnet n modulo the smallest number of NICs; shared: all in one (disjoint)")
    add("--routes", choices=["metric", "one", "rail", "policy"], default="metric",
        help="routes of the hosts of a routed network. metric: a default route by each NIC, the first one's best; "
        "one: by the first NIC only; rail: the same, and by each NIC a route to its rail's subnets; "
        "policy: by the first NIC, and a table per NIC for packets with its address as source (metric)")
    add("--stateful", action="store_true",
        help="the router of a routed network is a firewall that drops packets of unknown connections")
    add("--pods", action="store_true",
        help="hosts are like a cluster's pods: a management eth0 with the default route, and NICs net1, net2, ... "
        "that are macvlans of their node's uplinks, the first with a default route of its own")
    add("--management", action="store_true",
        help="adds an interface mgmt0 beside the NICs, over which the ranks meet (MASTER_ADDR) whatever fault "
        "the NICs have; pods have such an interface anyway")
    add("--nowhere", action="append", default=[], metavar="HOST:NIC",
        help="this NIC's port is alone on a switch of its own: "
        "it has link and an address of its rail, and reaches no other NIC")
    add("--names", metavar="P[,P...]", help="NIC name prefix, one or one per host: eth,ens (eth; net in pods)")
    add("--mtu", type=int, default=1500, metavar="BYTES", help="MTU of all NICs (1500)")
    add("--cut", action="append", default=[], metavar="HOST:NIC",
        help="no traffic on this NIC from the start, carrier up")


def _add_kernel(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--arp", choices=["default", "strict"], default="default",
        help="default: as Linux ships it, any NIC answers for any address of its host; "
        "strict: only for its own (arp_ignore 1, arp_announce 2) (default)")
    add("--rp-filter", type=int, choices=[0, 1, 2], default=0,
        help="the kernel's reverse-path filter: 0 off, 1 strict, 2 loose (0)")
    add("--ipv6", action="store_true", help="IPv6 addresses only")
    add("--dual-stack", action="store_true", help="IPv6 addresses beside the IPv4 ones, not just link-local ones")
    add("--disable-ipv6", action="store_true", help="no IPv6 at all (sysctl disable_ipv6)")
    add("--cc", default="cubic",
        help="TCP congestion control in every host (cubic); it is added to what this machine allows")


def _add_ranks(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--ranks-per-host", type=int, default=1, metavar="N", help="number of ranks on each host (1)")
    add("--pid-namespaces", action="store_true", help="every rank is pid 1 of its own pid namespace")
    add("--favour", action=argparse.BooleanOptionalAction, default=False,
        help="the ranks take precedence over all other processes of this machine, "
        "for measurements on a busy machine (needs root)")
    add("--timeout", type=float, default=0, metavar="SECONDS", help="end all ranks after this long (0: never)")
    add("--loopback", action="store_true",
        help="no namespaces: host h is 127.0.h.1 on this machine (taken by itself where namespaces cannot be made)")
    add("command", nargs=argparse.REMAINDER, metavar="-- CMD ...")


def request(args: argparse.Namespace, command: list[str]) -> run.Request:
    """Returns the checked request. Raises SpecError."""
    if args.ranks_per_host < 1 or args.timeout < 0:
        raise SpecError("--ranks-per-host is at least 1, --timeout at least 0")
    spec = make_spec(args.hosts, args.nics, args.rate, args.names, shape=args.shape, buffer_bytes=args.buffer,
                     network=args.network, subnets=args.subnets, routes=args.routes, stateful=args.stateful,
                     pods=args.pods, management=args.management, nowhere=args.nowhere, ipv6=args.ipv6,
                     dual_stack=args.dual_stack, disable_ipv6=args.disable_ipv6, arp=args.arp, rp_filter=args.rp_filter,
                     mtu_bytes=args.mtu, cc=args.cc)
    return run.Request(spec, command, args.loopback, args.ranks_per_host, args.pid_namespaces, args.favour,
                       args.timeout, [parse_nic("--cut", text, spec.nics) for text in args.cut])
