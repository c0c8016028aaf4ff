"""Runs a program under Open MPI on the hosts of a lab: `mpi_step.py PROGRAM ...`, once per rank as the lab starts it.

Rank 0 calls mpirun in its host; the other ranks end at once. mpirun starts its daemon in the other hosts through an
agent in the place of ssh: this script, which then enters the host's namespaces."""
from __future__ import annotations

import os
import sys
from pathlib import Path

_LAB = Path(__file__).resolve().parents[3] / "tools" / "lab"
_AGENT = "--agent"


def mpirun(program: list[str]) -> list[str]:
    """Returns the command: tcp over all of the host's interfaces, shared memory within a host. Waiting ranks yield if
    there are more ranks than cores."""
    ranks, per_host = int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_WORLD_SIZE"])
    rails = os.environ["RWLAB_NICS"]
    loopback = rails == "lo"
    options = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    mca = {"btl": "tcp,self,vader", "pml": "ob1", "btl_tcp_if_include": rails, "oob_tcp_if_include": rails}
    if ranks > (os.cpu_count() or 1):
        mca["mpi_yield_when_idle"] = "1"
    if not loopback:
        hosts = [f"host{h}:{per_host}" for h in range(ranks // per_host)]
        options += ["--host", ",".join(hosts)]
        mca |= {"plm_rsh_agent": f"{sys.executable} -B {Path(__file__).resolve()} {_AGENT}",
                "plm_rsh_no_tree_spawn": "1"}
    for name, value in mca.items():
        options += ["--mca", name, value]
    return ["mpirun", *options, *program]


def _enter(host: str, command: list[str]) -> list[str]:
    """Returns a command that does what ssh would: a shell in the host, under the host's own name."""
    number = host.removeprefix("host")
    script = 'echo "$0" > /proc/sys/kernel/hostname; exec sh -c "$1"'
    shell = ["unshare", "--uts", "sh", "-c", script, host, " ".join(command)]
    return [sys.executable, "-B", str(_LAB), "exec", "--host", number, "--", *shell]


def main(words: list[str]) -> int:
    if words[0] == _AGENT:
        argv = _enter(words[1], words[2:])
    elif os.environ["RANK"] != "0":
        return 0
    else:
        argv = mpirun(words)
        os.environ.setdefault("OMPI_MCA_orte_tmpdir_base", "/tmp")
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        os.environ.pop(name, None)
    sys.stdout.flush()
    os.execvp(argv[0], argv)
    return 127


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1:]))
