"""The options of `tools/lab set`, and the effect of each on a NIC."""
from __future__ import annotations

import argparse
import os

from . import faults, shaping
from .plan import Host, Nic, Plan
from .spec import SpecError, parse_rate

_ABOUT = """\
Changes one NIC of a running lab, in mid-traffic. --up undoes all but the events --reset, --arp-flip, --new-mac and
--forget-connections."""


def add(commands: argparse._SubParsersAction) -> argparse.ArgumentParser:
    parser = commands.add_parser("set", help="change a NIC of a running lab", description=_ABOUT,
                                 formatter_class=argparse.RawDescriptionHelpFormatter,
                                 epilog="For example: tools/lab set --host 0 --nic 1 --rate 100mbit")
    option = parser.add_argument
    option("--lab", default=os.environ.get("RWLAB"), metavar="NAME", help="default: $RWLAB, else the only one there is")
    option("--host", type=int, metavar="H", help="default: every host")
    option("--nic", type=int, required=True, metavar="N")
    what = parser.add_mutually_exclusive_group(required=True)
    _add_links(what)
    _add_packets(what)
    _add_addresses(what)
    what.add_argument("--up", action="store_true", help="undo all these, at the rate the lab started with")
    option("--direction", choices=["in", "out", "both"], default="both",
           help="direction for --firewall and for each --lose option with a PERCENT; in: to the host (both)")
    option("--at", choices=["host", "port"], default="host", help="place of the --firewall: the host, or the "
           "switch's port, which can only drop (host)")
    option("--family", choices=["all", "ipv4", "ipv6"], default="all",
           help="family for --firewall and --lose-syn (all)")
    return parser


def _add_links(what: argparse._MutuallyExclusiveGroup) -> None:
    add = what.add_argument
    add("--rate", metavar="R", help="100mbit; `none` lifts the shaping")
    add("--down", action="store_true", help="take the interface down, as its operator would")
    add("--port-down", action="store_true",
        help="take the switch's or router's port down: the NIC is up and loses its carrier")
    add("--cut", action="store_true", help="drop all its packets, both ways; the carrier stays up")
    add("--cut-out", action="store_true", help="drop all packets that the host sends by it; the carrier stays up")
    add("--switch-down", action="store_true", help="its switch forwards nothing; the carrier stays up")
    add("--reset", action="store_true", help="abort its TCP connections, with a RST to the other ends")


def _add_packets(what: argparse._MutuallyExclusiveGroup) -> None:
    add = what.add_argument
    add("--port-mtu", type=int, metavar="BYTES",
        help="the switch's port drops larger packets silently; turns segmentation offload off at every host")
    add("--firewall", choices=["drop", "reject", "reset"],
        help="drop its TCP packets, reject them by ICMP, or answer them with a reset")
    add("--lose", type=float, metavar="PERCENT",
        help="drop this share of all packets, on the cable; turns segmentation offload off at every host")
    add("--lose-flows", type=float, metavar="PERCENT",
        help="drop all packets of this share of the TCP connections, chosen by their ports, "
             "as a dead path of ECMP does")
    add("--lose-syn", type=float, metavar="PERCENT",
        help="drop this share of the packets that open connections, on the cable")


def _add_addresses(what: argparse._MutuallyExclusiveGroup) -> None:
    add = what.add_argument
    add("--address", metavar="A/BITS[,A/BITS]", help="replace its addresses, as another DHCP lease does")
    add("--lose-routes", action="store_true",
        help="remove all routes by the NIC, its subnet's included; link and addresses stay")
    add("--forget-connections", action="store_true", help="the firewall of a --stateful router forgets all connections")
    add("--arp-flip", type=int, metavar="M",
        help="announce to the peers, by a gratuitous ARP, that its address is at NIC M of its host")
    add("--new-mac", action="store_true",
        help="give it another MAC without an announcement, as for a container that is made anew")


def apply(plan: Plan, args: argparse.Namespace) -> None:
    """Applies the options. Raises SpecError, CommandError."""
    for host, nic in _nics(plan, args.host, args.nic):
        if not _link_changed(plan, host, nic, args) and not _packets_changed(plan, host, nic, args):
            _change_addresses(plan, host, nic, args)


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


def _link_changed(plan: Plan, host: Host, nic: Nic, args: argparse.Namespace) -> bool:
    if args.rate:
        shaping.set_rate(plan, nic, None if args.rate == "none" else parse_rate(args.rate))
    elif args.down:
        faults.take_down(host, nic)
    elif args.port_down:
        faults.take_port_down(plan, nic)
    elif args.cut:
        faults.cut(nic)
    elif args.cut_out:
        faults.cut_out(nic)
    elif args.switch_down:
        faults.take_switch_down(plan, nic)
    elif args.reset:
        faults.reset(host, nic)
    elif args.up:
        faults.restore(plan, host, nic)
    else:
        return False
    return True


def _percent(option: str, percent: float) -> float:
    if not 0 < percent <= 100:
        raise SpecError(f"{option} {percent:g}: more than 0, at most 100")
    return percent


def _packets_changed(plan: Plan, host: Host, nic: Nic, args: argparse.Namespace) -> bool:
    if args.port_mtu is not None:
        if not 68 <= args.port_mtu <= 65535:
            raise SpecError(f"--port-mtu {args.port_mtu}: 68 to 65535")
        faults.shrink_port_mtu(plan, nic, args.port_mtu)
    elif args.firewall:
        faults.filter_tcp(host, nic, faults.Rule(args.firewall, args.direction, args.at, args.family))
    elif args.lose is not None:
        faults.lose_packets(plan, nic, _percent("--lose", args.lose), args.direction)
    elif args.lose_flows is not None:
        faults.lose_flows(nic, _percent("--lose-flows", args.lose_flows), args.direction)
    elif args.lose_syn is not None:
        percent = _percent("--lose-syn", args.lose_syn)
        faults.filter_tcp(host, nic, faults.Rule("drop", args.direction, "port", args.family, percent))
    else:
        return False
    return True


def _change_addresses(plan: Plan, host: Host, nic: Nic, args: argparse.Namespace) -> None:
    if args.address:
        faults.replace_addresses(host, nic, args.address.split(","))
    elif args.lose_routes:
        faults.lose_routes(host, nic)
    elif args.forget_connections:
        faults.forget_connections(plan)
    elif args.new_mac:
        faults.change_mac(host, nic)
    else:
        if not 0 <= args.arp_flip < len(host.nics):
            raise SpecError(f"--arp-flip {args.arp_flip}: 0 to {len(host.nics) - 1}")
        faults.flip_arp(host, nic, host.nics[args.arp_flip])
