"""The command line of packaging/dist. It needs nothing that packaging/dist installs."""

from __future__ import annotations

import argparse

from recipes.targets import TARGETS

STEPS = {
    "build": "the plugin and the programs, and their packages",
    "extension": "the wheel railweave-torch",
    "sdist": "the source distribution",
    "check": "installs what is in build/dist in clean systems; writes packaging/result.txt",
}


def parse(words: list[str]) -> argparse.Namespace:
    """Returns `steps` and `machine`, a list or None. Ends the program for --help and for a wrong command line."""
    parser = argparse.ArgumentParser(
        prog="packaging/dist", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Makes packages in build/dist and checks them, as root. Steps (without STEP: all):\n"
        + "\n".join(f"  {name:9}  {what}" for name, what in STEPS.items()))
    parser.add_argument("steps", nargs="*", metavar="STEP", help="see above")
    parser.add_argument("--machine", choices=[target.machine for target in TARGETS], action="append",
                        help="build for this machine alone")
    args = parser.parse_args(words)
    for step in args.steps:
        if step not in STEPS:
            parser.error(f"{step}: expected one of {', '.join(STEPS)}")
    args.steps = args.steps or list(STEPS)
    return args
