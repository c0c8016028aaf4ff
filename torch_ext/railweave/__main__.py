"""`python -m railweave` and the command `railweave`: this process becomes the program of the package."""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("bin") / "railweave"


def main():
    """Runs the program with the arguments of this process. Returns 1 if the program cannot run, else never."""
    try:
        os.execv(PROGRAM, ["railweave", *sys.argv[1:]])
    except OSError as error:
        print(f"railweave: cannot run {PROGRAM}: {error.strerror}; install railweave again", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
