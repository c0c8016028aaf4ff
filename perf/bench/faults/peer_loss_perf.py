"""Measures how a transfer ends when the peer is lost.

In each trial, net_perf sends from rank 0 to rank 1 and compares every byte. In mid-transfer, at an instant drawn from
the seed, the program kills or stops one of the two ranks, or pulls the cables of all rails between them. It checks the
promises of docs/operate/reliability.md: both ends get an error or none, as promised, in the promised time, and the
error names the peer.

Run it by tools/lab run, on two hosts. The plugin uses all rails but the first. The ranks meet over the first rail,
which stays whole.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.faults import peer_losses, peer_promises  # noqa: E402
from bench.faults.mailbox import Mailbox  # noqa: E402
from bench.faults.peer_losses import Loss  # noqa: E402
from bench.faults.peer_promises import End, Instants  # noqa: E402
from bench.faults.traffic import wait_for_traffic  # noqa: E402
from lab import state  # noqa: E402
from lab.inside import parse_in_lab, write_result  # noqa: E402

_ROOT = Path(__file__).resolve().parents[3]
_BEGUN_BYTES = 1_000_000
_FIRST_S, _SPREAD_S = 0.3, 0.5  # the loss comes _FIRST_S plus up to _SPREAD_S after the transfer began
_GOES_ON_S = 4.0  # the transfer goes on for this long after an outage
_DEFAULT_EVERY = 10  # every tenth trial keeps the default timeout, if --timeout shortens it
_PORTS = 50  # used in turn
_PATIENCE_S = 90.0  # more than the greatest timeout


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peer_loss_perf", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kind", required=True, choices=sorted(peer_losses.kLosses), help="how the peer is lost")
    add("--trials", type=int, default=20, help="number of trials (20)")
    add("--seed", type=int, default=1, help="seed of the instants and of the lost ranks (1)")
    add("--lasts", type=float, metavar="SECONDS", help="length of an outage that ends, instead of its kind's length")
    add("--timeout", type=int, metavar="SECONDS",
        help="the plugin's timeout for this kind of loss; "
             f"one trial of {_DEFAULT_EVERY} keeps the plugin's default")
    add("--never-default", action="store_true", help="use --timeout in all trials")
    add("--programs", default=str(_ROOT / "build" / "release" / "bin"), help="folder of net_perf (build/release/bin)")
    add("--json", metavar="FILE", help="write the results to this file")
    args = parse_in_lab(parser)
    if len(os.environ["RWLAB_NICS"].split(",")) < 2 or os.environ["WORLD_SIZE"] != "2":
        parser.error("expected two hosts with at least two rails each")
    if args.trials < 1:
        parser.error(f"--trials {args.trials}: at least 1")
    return args


class Running:
    """The net_perf of this rank, and its output with times."""

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True)
        self._lines: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.pid = self._process.pid

    def _read(self) -> None:
        for line in self._process.stdout:
            self._lines.append((time.monotonic(), line.rstrip("\n")))

    def end(self) -> End:
        try:
            self._process.wait(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._lines.append((time.monotonic(), "it hangs"))
            self._process.kill()
        self._reader.join()
        return End(self.pid, self._process.wait(), self._lines)


class Trial:
    """This rank's half of one trial."""

    def __init__(self, args: argparse.Namespace, number: int, mailbox: Mailbox, json_file: Path) -> None:
        self.loss: Loss = peer_losses.kLosses[args.kind]
        self.rank, self.number, self._mailbox, self._json = int(os.environ["RANK"]), number, mailbox, json_file
        self._programs, self._plan = Path(args.programs), state.load(os.environ["RWLAB"])
        self._nics = os.environ["RWLAB_NICS"].split(",")
        chance = random.Random(f"{args.seed} {args.kind} {number}")
        self.victim = 0 if self.loss.is_cable else chance.choice((0, 1))  # rank that gets the signal; without a signal,
                                                                          # the rank that pulls the cables
        self.after_s = _FIRST_S + _SPREAD_S * chance.random()
        self.lasts_s = None if self.loss.is_error else args.lasts or self.loss.lasts_s
        shortened = args.timeout and (args.never_default or number % _DEFAULT_EVERY)
        self.timeout_s = args.timeout if shortened else self.loss.default_s

    def run(self) -> dict:
        """Runs the trial. Returns this rank's observations for JSON."""
        self._json.unlink(missing_ok=True)
        running, instants = Running(self._command(), self._environment()), None
        if self.rank == self.victim:
            instants = self._lose(running)
        end = running.end()
        if self.rank != self.victim:
            self._mailbox.send(f"survived-{self.number}", True)
        document = json.loads(self._json.read_text()) if self.rank == 0 and self._json.exists() else None
        return {"end": asdict(end), "instants": instants and asdict(instants), "document": document}

    def _lose(self, running: Running) -> Instants:
        nics, pid = list(range(1, len(self._nics))), running.pid
        wait_for_traffic([self._nics[1]], ("tx_bytes", "rx_bytes"), _BEGUN_BYTES, _PATIENCE_S)
        time.sleep(self.after_s)
        lost_s = time.monotonic()
        peer_losses.happen(self.loss, self._plan, nics, pid)
        took_s = time.monotonic() - lost_s
        if self.lasts_s is not None:
            time.sleep(max(0.0, lost_s + self.lasts_s - time.monotonic()))
        else:
            self._mailbox.receive(f"survived-{self.number}")
            if self.loss.is_cable:
                running.end()  # this end, too, while nothing comes through
        undone_s = time.monotonic()
        if self.loss.can_be_undone:
            peer_losses.undo(self.loss, self._plan, nics, pid)
        return Instants(lost_s, took_s, undone_s)

    def _command(self) -> list[str]:
        block = ["--bytes", "64G"]
        if self.lasts_s is not None:
            block = ["--duration", f"{_FIRST_S + _SPREAD_S + self.lasts_s + _GOES_ON_S:.1f}"]
        return [str(self._programs / "net_perf"), "--size", "128K", "--inflight", "32", "--verify", "--warmup", "0",
                "--sleep-us", "50", *block, "--json", str(self._json)]

    def _environment(self) -> dict[str, str]:
        changed = {"MASTER_PORT": str(int(os.environ["MASTER_PORT"]) + 1 + self.number % _PORTS),
                   "RAILWEAVE_RAILS": ",".join(self._nics[1:])}
        if self.loss.error_after and self.timeout_s != self.loss.default_s:
            changed[self.loss.error_after] = str(self.timeout_s)
        return {**os.environ, **changed}


def _entry(trial: Trial, halves: list[dict]) -> tuple[dict, peer_promises.Verdict]:
    """On rank 0: returns a trial for the JSON and its verdict."""
    ends = [End(**half["end"]) for half in halves]
    at = Instants(**halves[trial.victim]["instants"])
    verdict = peer_promises.judged(trial.loss, trial.victim, ends, at, halves[0]["document"])
    said = [[f"{at_s - at.lost_s:.3f} {line}" for at_s, line in end.lines] for end in ends]
    return {"number": trial.number, "victim": trial.victim, "after_s": trial.after_s, "timeout_s": trial.timeout_s,
            **asdict(verdict), "said": said}, verdict


def _run(args: argparse.Namespace, mailbox: Mailbox, folder: Path) -> dict:
    """Runs all trials. Returns the document, on rank 0."""
    loss, entries, verdicts = peer_losses.kLosses[args.kind], [], []
    for number in range(args.trials):
        trial = Trial(args, number, mailbox, folder / "run.json")
        mine = trial.run()
        mailbox.send(f"saw-{number}", mine)
        theirs = mailbox.receive(f"saw-{number}")
        if trial.rank == 0:
            entry, verdict = _entry(trial, [mine, theirs])
            entries.append(entry)
            verdicts.append(verdict)
            print(f"{args.kind} {number}: {verdict}", file=sys.stderr, flush=True)
    if not verdicts:
        return {}
    return {"kind": args.kind, "what": loss.what, "seed": args.seed, "trials": entries,
            "summary": peer_promises.summary(loss, [entry["timeout_s"] for entry in entries], verdicts)}


def main() -> int:
    args = _parse()
    mailbox = Mailbox(2 * _PATIENCE_S)
    with tempfile.TemporaryDirectory(prefix="peer-loss-") as folder:
        document = _run(args, mailbox, Path(folder))
    if os.environ["RANK"] != "0":
        mailbox.send("done", True)
        return 0
    write_result(document, args.json)
    mailbox.receive("done")
    mailbox.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
