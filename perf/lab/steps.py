"""Runs several programs one after the other in one lab, without a teardown in between.

in_lab() starts the lab, which runs `steps.py STEPS.json` once per rank. Rank 0 leaves NAME.json in its folder, and both
ranks leave NAME.rankR.log. The ranks start every step together (by files in the folder, since the hosts are one
machine), and every step has its own port. A step's "ranks" are the ranks that take part, if not all do. A step with an
"only_nic" uses that NIC alone, and is skipped if no NIC has the name (over loopback)."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

_LAB = Path(__file__).resolve().parents[2] / "tools" / "lab"
TAIL_CHARS = 3000  # of a program's output: enough to show why it failed
_IPERF_PATIENCE_S = 10.0
_FELL_BACK = "lab: no network namespaces here"


class NoNamespaces(RuntimeError):
    """The lab would have used loopback, which was not to be measured."""


def _refuse(reason: str) -> None:
    raise NoNamespaces(reason)


def in_lab(options: list[str], plan: Path, show: Callable[[str], None],
           fell_back: Callable[[str], None] = _refuse) -> tuple[int, str]:
    """Runs the steps of `plan` in a lab with these options (those of `tools/lab run`), with --favour unless the options
    say otherwise. Calls `show` with the name of each step as it begins, and `fell_back` with the reason if the lab uses
    loopback instead. Their exceptions end the lab. Returns the lab's exit status and its output beside the progress.
    Raises NoNamespaces if `fell_back` is not given."""
    python = [sys.executable, "-B"]
    argv = [*python, str(_LAB), "run", "--favour", *options, "--", *python, __file__, str(plan)]
    said = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as lab:
        try:
            for line in lab.stdout:
                if "@step " in line:
                    show(line.split("@step ")[1].strip())
                    continue
                if line.startswith(_FELL_BACK):
                    fell_back(line.removeprefix("lab: ").strip())
                said.append(line)
            return lab.wait(), "".join(said)
        except BaseException:
            lab.send_signal(signal.SIGTERM)  # the lab tears itself down
            lab.wait()
            raise


def tails(folder: Path) -> str:
    """Returns the end of each step's output on each rank, from the logs in the folder."""
    return "".join(f"--- {log.name}\n{log.read_text(errors='replace')[-TAIL_CHARS:]}"
                   for log in sorted(folder.glob("*.log")) if log.stat().st_size)


def _run(argv: list[str], environment: dict[str, str], log: Path, timeout_s: float) -> int:
    with log.open("ab") as sink:
        process = subprocess.Popen(argv, env=environment, stdout=sink, stderr=subprocess.STDOUT, process_group=0)
        try:
            status = process.wait(timeout=timeout_s)
            return status if status >= 0 else 128 - status  # killed by a signal: as a shell reports it
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            sink.write(f"ended after {timeout_s:g} s\n".encode())
            return 124


def _iperf3_server(address: str, port: int, result: Path, log: Path, timeout_s: float) -> int:
    """Runs an iperf3 server. `-1` does not always end with its one client, so the client's result ends the server
    too."""
    with log.open("ab") as sink:
        argv = ["iperf3", "-s", "-1", "-B", address, "-p", str(port)]
        server = subprocess.Popen(argv, stdout=sink, stderr=subprocess.STDOUT, process_group=0)
        deadline = time.monotonic() + timeout_s
        while server.poll() is None and not result.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            server.wait(timeout=1)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    return 0 if server.returncode == 0 or result.exists() else 1


def _iperf3(step: dict, rank: int, port: int, result: Path, log: Path) -> int:
    """Measures with iperf3 from rank 0 to rank 1 over the first NIC. iperf3 blocks, so it only checks the yardstick."""
    address = os.environ["RWLAB_ADDRESSES"].split(";")[1].split(",")[0]
    if rank == 1:
        return _iperf3_server(address, port, result, log, step["timeout_s"])
    deadline = time.monotonic() + _IPERF_PATIENCE_S
    argv = ["iperf3", "-c", address, "-p", str(port), "-J", *step["argv"][1:]]
    while True:
        done = subprocess.run(argv, capture_output=True, timeout=step["timeout_s"], check=False)
        # With -J iperf3 reports errors only in its JSON.
        worked = done.returncode == 0 and b'"sum_received"' in done.stdout
        if worked or time.monotonic() > deadline:
            (result if worked else log).write_bytes(done.stdout + done.stderr)
            return 0 if worked else done.returncode or 1
        time.sleep(0.1)  # the server is not there yet


def _meet(name: str, rank: int, world: int, folder: Path, timeout_s: float) -> bool:
    """Waits until every rank has come to this step. Returns False after `timeout_s`."""
    (folder / f"{name}.rank{rank}.here").touch()
    deadline = time.monotonic() + timeout_s
    while not all((folder / f"{name}.rank{other}.here").exists() for other in range(world)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _step(step: dict, number: int, rank: int, folder: Path) -> int:
    port = int(os.environ["MASTER_PORT"]) + number
    result, log = folder / f"{step['name']}.json", folder / f"{step['name']}.rank{rank}.log"
    environment = {**os.environ, "MASTER_PORT": str(port)}
    if nic := step.get("only_nic"):
        environment["NCCL_SOCKET_IFNAME"] = f"={nic}"
    if ranks := step.get("ranks", 0):
        if rank >= ranks:
            return 0
        environment["WORLD_SIZE"] = str(ranks)
    for command in step["before"] if rank == 0 else []:
        if status := _run(["sh", "-c", command], environment, log, step["timeout_s"]):
            return status
    if step["argv"][0] == "iperf3":
        status = _iperf3(step, rank, port, result, log)
    else:
        status = _run([*step["argv"], "--json", str(result)], environment, log, step["timeout_s"])
    for command in step["after"] if rank == 0 else []:
        status = _run(["sh", "-c", command], environment, log, step["timeout_s"]) or status
    return status


def main() -> int:
    path = Path(sys.argv[1])
    plan = json.loads(path.read_text())
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    worst = 0
    nics = os.environ["RWLAB_NICS"].split(",")
    for number, step in enumerate(plan["steps"]):
        if step.get("only_nic", nics[0]) not in nics:
            continue
        if rank == 0:
            print(f"@step {step['name']}", flush=True)
        if not _meet(step["name"], rank, world, path.parent, 2 * step["timeout_s"]):
            print(f"{step['name']}: rank {rank} is alone", file=sys.stderr, flush=True)
            return 1
        status = _step(step, number, rank, path.parent)
        if status:
            print(f"{step['name']}: rank {rank} ended with status {status}", file=sys.stderr, flush=True)
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main())
