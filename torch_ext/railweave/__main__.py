"""`python -m railweave` and the commands of the package: this process becomes the program of the same name."""

import os
import sys
from pathlib import Path

PROGRAMS = Path(__file__).with_name("bin")


def _become(name):
    """Runs a program with the arguments of this process. Returns 1 if the program cannot run, else never."""
    program = PROGRAMS / name
    try:
        os.execv(program, [name, *sys.argv[1:]])
    except OSError as error:
        print(f"{name}: cannot run {program}: {error.strerror}; install railweave again", file=sys.stderr)
        return 1


def main():
    return _become("railweave")


def net_perf():
    """Only the wheel has this program; a package that pip builds from source has not."""
    return _become("railweave-net-perf")


if __name__ == "__main__":
    sys.exit(main())
