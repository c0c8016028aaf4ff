"""Steps of the demo's model, overlapped, under the scheduler's policies by turns: two ranks in a lab, each policy in
processes of its own, of which one at a time is at work. One rank, found by RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
and what tools/lab sets.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import select
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.steps.at_least import at_least  # noqa: E402
from bench.steps.command_line import command_line, parse_step  # noqa: E402
from bench.steps.paired import paired_ratio  # noqa: E402

_CHILD = Path(__file__).resolve().parent / "policy_step.py"
_POLICIES = ("off", "window:2", "auto")
_STEP_MOST_S = 120
_KEPT = re.compile(r"auto keeps (.+?) \(a step")
_TAIL_CHARS = 4000  # of a log, in a message
_PORTS = 10  # distance from the ranks' own port, and between policies


def _parse() -> argparse.Namespace:
    parser = command_line("policy_perf", __doc__, programs=False)
    add = parser.add_argument
    add("--sequences", type=at_least(1), default=2, help="number of sequences of each rank in a step (2)")
    add("--settling", type=at_least(1), default=45,
        help="steps of each policy before the timed ones; auto learns in them (45)")
    add("--rounds", type=at_least(1), default=40, help="number of rounds; each policy makes one step in a round (40)")
    return parse_step(parser)


class _Policy:
    """A policy's process, which sleeps except while it makes a step."""

    def __init__(self, name: str, number: int, sequences: int, settling: int) -> None:
        port = int(os.environ["MASTER_PORT"]) + _PORTS * (number + 1)
        environment = {**os.environ, "RAILWEAVE_SCHEDULE": name, "MASTER_PORT": str(port),
                       "TORCH_CPP_LOG_LEVEL": "INFO"}
        self.name, self.settling, self.seconds, self.losses, self.in_flight = name, settling, [], [], None
        self._log = tempfile.TemporaryFile(mode="w+")
        self._process = subprocess.Popen([sys.executable, "-B", str(_CHILD), str(sequences)], env=environment,
                                         text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    def step(self, traced: bool = False) -> float:
        """Returns the step's seconds. Raises RuntimeError if the process ended or took too long."""
        with suppress(BrokenPipeError):  # the process's end gives a better message
            self._process.stdin.write("traced\n" if traced else "\n")
            self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], _STEP_MOST_S)[0]:
            raise RuntimeError(f"{self.name}: no step within {_STEP_MOST_S} s\n{self._said()[-_TAIL_CHARS:]}")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: its process ended with status {self._process.wait()}\n"
                               f"{self._said()[-_TAIL_CHARS:]}")
        answer = json.loads(line)
        self.losses.append(answer["losses"])
        self.in_flight = answer.get("in_flight_operations")
        return answer["seconds"]

    def kept(self) -> str | None:
        """Returns the policy that auto settled on, from its log; None: not settled."""
        found = _KEPT.findall(self._said())
        return found[-1] if found else None

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def end(self) -> None:
        self._process.stdin.close()
        if status := self._process.wait(timeout=60):
            raise RuntimeError(f"{self.name}: its process ended with status {status}")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def _say(text: str) -> None:
    if os.environ["RANK"] == "0":
        print(text, file=sys.stderr, flush=True)


def _run(policies: list[_Policy], args: argparse.Namespace) -> None:
    for policy in policies:
        took = [policy.step() for _ in range(policy.settling)]
        _say(f"{policy.name}: {policy.settling} steps, the last of {took[-1]:.2f} s")
    for number in range(args.rounds):
        for policy in policies[number % len(policies):] + policies[:number % len(policies)]:
            policy.seconds.append(policy.step())
        _say(f"round {number + 1} of {args.rounds}: "
             + ", ".join(f"{policy.name} {policy.seconds[-1]:.3f} s" for policy in policies))
    for policy in policies:
        policy.step(traced=True)
        _say(f"{policy.name}: at most {policy.in_flight} operations in flight")


def main() -> int:
    args = _parse()
    policies: list[_Policy] = []
    try:
        for number, name in enumerate(_POLICIES):
            policies.append(_Policy(name, number, args.sequences, args.settling))
        _run(policies, args)
        for policy in policies:
            policy.end()
    finally:
        for policy in policies:
            policy.kill()
    if os.environ["RANK"] == "0" and args.json:
        off, window, auto = policies
        better = min((off, window), key=lambda policy: median(policy.seconds))
        Path(args.json).write_text(json.dumps({
            "sequences": args.sequences,
            "seconds": {policy.name: policy.seconds for policy in policies},
            "summary": {
                "step_s": {policy.name: median(policy.seconds) for policy in policies},
                "better": better.name,
                "auto_of_better": paired_ratio(auto.seconds, better.seconds),
                "auto_kept": auto.kept(),
                "auto_settled": int(auto.kept() is not None),
                "in_flight_operations": {policy.name: policy.in_flight for policy in policies},
                "losses_differ": sum(any(of_step != all_of_step[0] for of_step in all_of_step)
                                     for all_of_step in zip(*(policy.losses for policy in policies), strict=True)),
            },
        }, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
