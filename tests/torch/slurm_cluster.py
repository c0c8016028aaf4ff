"""A Slurm cluster of two nodes on this machine: munged, slurmctld and two slurmd, on loopback, in a folder of its own.

Slurm comes from the system, or from build/slurm/root, where `tests/torch/fetch_slurm` unpacks Debian's packages without
installing them."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

UNPACKED = Path(__file__).resolve().parents[2] / "build" / "slurm" / "root"
NODES = 2
_PATIENCE_S = 20
_FOLDERS = ("usr/sbin", "usr/bin", "usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/slurm-wlm")


def _root() -> Path:
    return UNPACKED if UNPACKED.is_dir() else Path("/")


def program(name: str) -> str | None:
    """Returns the path of a program of Slurm or MUNGE. Debian's daemons have names with -wlm."""
    folders = os.pathsep.join(str(_root() / folder) for folder in _FOLDERS[:2])
    return shutil.which(f"{name}-wlm", path=folders) or shutil.which(name, path=folders)


def why_not() -> str:
    """Returns why no cluster can be started here; empty: one can."""
    missing = [name for name in ("munged", "slurmctld", "slurmd", "slurmstepd", "sbatch") if not program(name)]
    if missing:
        return f"{', '.join(missing)} not found; run: tests/torch/fetch_slurm"
    return "" if os.geteuid() == 0 else "only root may run slurmd"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmCluster:
    """Use as a context manager. `folder` is new and private: it holds a key. All programs end with the context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []
        libraries = os.pathsep.join(str(_root() / one) for one in _FOLDERS[2:])
        self.programs = os.pathsep.join(str(_root() / one) for one in _FOLDERS[:2])
        self._variables = {"SLURM_CONF": str(folder / "slurm.conf"), "LD_LIBRARY_PATH": libraries}

    def __enter__(self) -> SlurmCluster:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._running):
            one.terminate()
        for one in self._running:
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()

    def run(self, *words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a client of Slurm."""
        variables = {**(environment or os.environ), **self._variables}
        return subprocess.run([str(program(words[0])), *words[1:]], env=variables, capture_output=True, text=True,
                              timeout=90, check=False, cwd=self._folder)

    def run_job(self, *words: str, environment: dict[str, str]) -> str:
        """Submits a batch job and waits for its end, 90 s at most. Returns its state and exit code: "COMPLETED 0:0".
        (sbatch --wait asks less and less often: up to half a minute passes after the job.)"""
        submitted = self.run("sbatch", "--parsable", *words, environment=environment)
        if submitted.returncode != 0:
            return submitted.stderr
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            shown = self.run("scontrol", "--oneliner", "show", "job", submitted.stdout.strip()).stdout
            facts = dict(word.split("=", 1) for word in shown.split() if "=" in word)
            if facts.get("JobState") not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                return f"{facts.get('JobState')} {facts.get('ExitCode')}"
            time.sleep(0.1)
        return f"no end after 90 s\n{shown}"

    def _start(self) -> None:
        control, *of_nodes = _free_ports(1 + NODES)
        (self._folder / "slurm.conf").write_text(self._configuration(control, of_nodes))
        (self._folder / "state").mkdir()
        key = self._folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(64))
        self._spawn("munged", "--foreground", "--force", *(f"--{name}={self._folder / file}" for name, file in (
            ("socket", "munge.sock"), ("key-file", "munge.key"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
            ("seed-file", "munge.seed"))))
        self._until((self._folder / "munge.sock").exists, "munged opens its socket")
        self._spawn("slurmctld", "-D")
        for node in range(NODES):
            self._spawn("slurmd", "-D", "-N", f"node{node}", "-d", str(program("slurmstepd")))
        self._until(lambda: self._idle_nodes() == NODES, "all nodes are idle")

    def _idle_nodes(self) -> int:
        shown = self.run("sinfo", "--noheader", "--states=idle", "--format=%D").stdout.split()
        return int(shown[0]) if shown else 0

    def _spawn(self, name: str, *words: str) -> None:
        log = self._folder / f"{name}-{len(self._running)}.out"
        with log.open("wb") as output:
            self._running.append(subprocess.Popen([str(program(name)), *words], stdout=output, stderr=output,
                                                  env={**os.environ, **self._variables}, cwd=self._folder))

    def _until(self, holds, what: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not holds():
            ended = [one.args for one in self._running if one.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "\n".join(f"{log.name}:\n{log.read_text()[-2000:]}" for log in self._folder.glob("*.out"))
                raise RuntimeError(f"waited for: {what}; ended: {ended}\n{logs}")
            time.sleep(0.05)

    def _configuration(self, control: int, of_nodes: list[int]) -> str:
        host = socket.gethostname().split(".")[0]
        settings = {
            "ClusterName": "test", "SlurmctldHost": f"{host}(127.0.0.1)", "SlurmctldPort": control, "SlurmUser": "root",
            "SlurmdUser": "root", "AuthType": "auth/munge", "AuthInfo": f"socket={self._folder}/munge.sock",
            "CredType": "cred/munge", "StateSaveLocation": f"{self._folder}/state",
            "SlurmdSpoolDir": f"{self._folder}/spool-%n", "SlurmctldPidFile": f"{self._folder}/slurmctld.pid",
            "SlurmdPidFile": f"{self._folder}/slurmd-%n.pid", "PluginDir": _root() / _FOLDERS[3],
            "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none", "SelectType": "select/linear",
            "MpiDefault": "none", "SchedulerType": "sched/builtin", "AccountingStorageType": "accounting_storage/none",
            "JobAcctGatherType": "jobacct_gather/none", "SwitchType": "switch/none", "ReturnToService": 2}
        lines = [f"{name}={value}" for name, value in settings.items()]
        lines += [f"NodeName=node{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
                  for node, port in enumerate(of_nodes)]
        return "\n".join([*lines, "PartitionName=all Nodes=ALL Default=YES MaxTime=30 State=UP", ""])
