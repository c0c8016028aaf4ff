"""The command line of tools/lab."""
from __future__ import annotations

import argparse
import json
import os
import sys

from . import run, run_options, set_options, state
from .iproute import CommandError
from .spec import SpecError

_ABOUT = """\
Turns this machine into several hosts with several NICs: hosts are network namespaces, NICs are veth pairs with a token
bucket. `run` makes them, runs CMD once per host and removes everything again, however it ends.

Namespaces need root. Without it `run` says so and goes over loopback (as with --loopback): no NICs, no rates."""

_NO_PROGRAM = 127  # as a shell reports it


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/lab", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run_options.add(commands).set_defaults(action=_run)
    set_options.add(commands).set_defaults(action=_set)
    enter = commands.add_parser("exec", help="run one more command inside a host of a running lab",
                                description="Runs CMD inside one host of a running lab, where it sees that host's "
                                "NICs. Exit status: CMD's.", usage="tools/lab exec [--lab NAME] [--host H] -- CMD ...",
                                epilog="For example: tools/lab exec --host 1 -- ss -tin")
    enter.add_argument("--lab", default=os.environ.get("RWLAB"), metavar="NAME",
                       help="default: $RWLAB, else the only one there is")
    enter.add_argument("--host", type=int, default=0, metavar="H", help="the host (0)")
    enter.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD ...")
    enter.set_defaults(action=_exec)
    show = commands.add_parser("list", help="living labs, their hosts and NICs, as JSON",
                               description="Prints the labs that live and their plans: a JSON object, by name.")
    show.set_defaults(action=lambda _: print(json.dumps(state.living(), indent=1)) or 0)
    clean = commands.add_parser("clean", help="remove namespaces and files of labs whose processes are all gone",
                                description="Removes the namespaces and files of labs whose processes, the guardian "
                                "too, are all gone, and names them. The next `run` does the same.")
    clean.set_defaults(action=_clean)
    return parser


def _after_dashes(words: list[str]) -> list[str]:
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise SpecError("no command given: expected `-- CMD ...` at the end")
    return command


def _run(args: argparse.Namespace) -> int:
    command = _after_dashes(args.command)
    if "/" in command[0] and not os.path.exists(command[0]):
        hint = " (`make programs` makes those under build/release)" if command[0].startswith("build/") else ""
        print(f"tools/lab: {command[0]}: no such program{hint}", file=sys.stderr)
        return _NO_PROGRAM
    return run.run(run_options.request(args, command))


def _set(args: argparse.Namespace) -> int:
    set_options.apply(state.load(args.lab), args)
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
    """Returns the exit status; 2 for an invalid command line."""
    args = _parser().parse_args(argv)
    try:
        return args.action(args)
    except (SpecError, state.NoSuchLab) as error:
        print(f"tools/lab: {error}", file=sys.stderr)
        return 2
    except CommandError as error:
        print(f"tools/lab: {error}", file=sys.stderr)
        return 1
