"""The command line of tools/vm."""
from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from . import image, machine
from .commands import say
from .errors import VmError

_ABOUT = """\
A throw-away VM (QEMU, software emulation) with Debian's kernel, for what this host's kernel lacks: RDMA over Ethernet
in software (rdma_rxe) and netem. docs/internals/vm.md says what the VM can show and what it cannot."""

_RUN = """\
Boots the VM and runs SCRIPT (bash) as root in it, with the arguments and in this folder. The guest sees this host's
files, so programs of build/ and .venv run as they are. What the guest writes is thrown away, but for /vmout.
Exit status: the script's; 125 if the VM fails or the time is over, with the reason; 128 + signal if stopped."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/vm", description=_ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    setup = commands.add_parser("setup", help="install packages and make kernel and file system in build/vm",
                                description="Makes what `run` needs, in build/vm, and only what is missing. Installs "
                                "the packages of perf/lab/vm/packages.txt as root. Exit status: 125 if something "
                                "cannot be had, with the reason.")
    setup.set_defaults(action=_setup)
    run = commands.add_parser("run", help="boot, run a script, pass its status back", description=_RUN,
                              formatter_class=argparse.RawDescriptionHelpFormatter,
                              usage="tools/vm run [options] SCRIPT [ARGS...]",
                              epilog="For example: tools/vm run --out /tmp/found perf/lab/vm/guest/rdma_pair")
    run.add_argument("--seconds", type=float, default=120, metavar="N", help="time limit, boot included (120)")
    run.add_argument("--cores", type=int, default=1, metavar="N",
                     help="cores of the VM; one core of this host emulates them by turns (1)")
    run.add_argument("--memory", type=int, default=2048, metavar="MB", help="memory of the VM in MiB (2048)")
    run.add_argument("--out", type=Path, metavar="DIR", help="the guest's /vmout, kept (default: thrown away)")
    run.add_argument("--steady-clock", action="store_true",
                     help="the guest's clock counts the guest's instructions, so that time limits in the guest do not "
                     "pass while this host is busy; takes up to twice the processor time")
    run.add_argument("--kernel-append", default="", metavar="TEXT",
                     help="more parameters of the kernel, for example loglevel=7")
    # One list: a separate argument for the script would take a "--" behind the script too.
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGS...]",
                     help="a bash script and its arguments")
    run.set_defaults(action=_run)
    return parser


def _setup(_: argparse.Namespace) -> int:
    image.make()
    return 0


def _run(args: argparse.Namespace) -> int:
    if args.seconds <= 0 or args.cores < 1 or args.memory < 256:
        print("tools/vm: --seconds is above 0, --cores at least 1, --memory at least 256", file=sys.stderr)
        return 2
    if not args.words:
        print("tools/vm: no script given: expected tools/vm run [options] SCRIPT [ARGS...]", file=sys.stderr)
        return 2
    return machine.run(machine.Request(Path(args.words[0]), args.words[1:], args.seconds, args.cores, args.memory,
                                       args.out, args.steady_clock, args.kernel_append))


def main(argv: list[str]) -> int:
    """Returns the exit status; 2 for an invalid command line."""
    args = _parser().parse_args(argv)
    try:
        return args.action(args)
    except (VmError, OSError) as error:
        say(str(error))
        return machine.kFailed
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
