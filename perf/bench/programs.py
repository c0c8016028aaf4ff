"""Maps a side's first word to a program: one of the build, or another library's to compare with."""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_PERF = Path(__file__).resolve().parent.parent
_VENV_PYTHON = _PERF.parent / ".venv" / "bin" / "python"
_MPI_STEP = _PERF / "bench/compare" / "mpi_step.py"
# Programs that need torch: path in perf, and first options.
_WITH_TORCH = {"gloo_perf": ("bench/compare/torch_perf.py", "--backend", "gloo"),
               "torch_perf": ("bench/compare/torch_perf.py", "--backend", "railweave"),
               "urgent_perf": ("bench/compare/urgent_perf.py",), "step_perf": ("bench/steps/step_perf.py",),
               "policy_perf": ("bench/steps/policy_perf.py",), "slow_rail_perf": ("bench/steps/slow_rail_perf.py",),
               "disturbed_perf": ("bench/steps/disturbed_perf.py",)}
# Programs of both ends, and one that starts both: path in perf.
_OF_BOTH_ENDS = {"rail_loss_perf": "bench/faults/rail_loss_perf.py", "peer_loss_perf": "bench/faults/peer_loss_perf.py",
                 "incast_perf": "bench/incast/incast_perf.py", "sharing_perf": "bench/incast/sharing_perf.py",
                 "instructions_perf": "bench/compare/instructions_perf.py",
                 "mptcp_perf": "bench/compare/mptcp_perf.py",
                 "share_perf": "bench/hosts/share_perf.py", "false_alarm_perf": "bench/hosts/false_alarm_perf.py",
                 "connect_loss_perf": "bench/hosts/connect_loss_perf.py",
                 "many_ranks_perf": "bench/hosts/many_ranks_perf.py"}
# Programs of the build that each of these runs; they take --programs.
_RUN_OTHERS = {"rail_loss_perf": ("net_perf", "raw_tcp"), "peer_loss_perf": ("net_perf",),
               "incast_perf": ("net_perf", "raw_tcp"), "sharing_perf": ("net_perf", "raw_tcp"),
               "instructions_perf": ("net_perf",), "mptcp_perf": ("raw_tcp",), "share_perf": ("net_perf", "raw_tcp"),
               "false_alarm_perf": ("net_perf",), "connect_loss_perf": ("net_perf",),
               "many_ranks_perf": ("alltoall_perf",),
               "step_perf": ("raw_tcp", "fsdp_replay"), "slow_rail_perf": ("raw_tcp", "fsdp_replay")}
# Net plugins of others, as NAME@PLUGIN: path in build/peers. A link to a library that was built elsewhere.
_PLUGINS_OF_OTHERS = {"aws-ofi-nccl": "aws-ofi-nccl/libnccl-net-ofi.so"}
# Programs with the collectives built in. For another commit that commit's program runs; the other programs take that
# commit's plugin instead.
_OF_COLLECTIVES = {"all_gather_perf", "all_reduce_perf", "alltoall_perf", "broadcast_perf", "gather_perf",
                   "reduce_perf", "reduce_scatter_perf", "scatter_perf", "sendrecv_perf"}


def command(argv: list[str], programs: Path, environment: dict[str, str] | None = None) -> list[str]:
    """Returns the command to run once per rank. `programs`: the folder of the build's programs."""
    if environment:
        return ["env", *(f"{name}={_from_root(value)}" for name, value in environment.items()),
                *command(argv, programs)]
    name, rest = argv[0], argv[1:]
    if name == "iperf3":
        return argv
    name, _, commit = name.partition("@")
    if commit and name in _OF_COLLECTIVES:
        return [str(_build_of(commit) / "bin" / name), *rest]
    if commit:
        return [*command([name], programs), "--plugin", str(_plugin_of(commit)), *rest]
    others = ["--programs", str(programs)] if name in _RUN_OTHERS else []
    if name in _WITH_TORCH:
        program, *options = _WITH_TORCH[name]
        return ["env", f"PYTHONPATH={_package(programs)}", str(_VENV_PYTHON), "-B", str(_PERF / program), *options,
                *others, *rest]
    if name in _OF_BOTH_ENDS:
        return [sys.executable, "-B", str(_PERF / _OF_BOTH_ENDS[name]), *others, *rest]
    if name == "mpi_perf":
        return [sys.executable, "-B", str(_MPI_STEP), str(programs / name), *rest]
    return [str(programs / name), *rest]


def _from_root(value: str) -> str:
    """Returns the whole path of a file in .venv; another value as it is."""
    return str(_PERF.parent / value) if value.startswith(".venv/") else value


def _package(programs: Path) -> Path:
    """Returns the Python package of the preset torch, beside the build of `programs`."""
    return programs.parent.parent / "torch" / "python"


def _build_of(commit: str) -> Path:
    """Returns the folder in which tools/build-commit leaves a commit's build."""
    return _PERF.parent / "build" / "commits" / commit / "build" / "release"


def _plugin_of(commit: str) -> Path:
    if commit in _PLUGINS_OF_OTHERS:
        return _PERF.parent / "build" / "peers" / _PLUGINS_OF_OTHERS[commit]
    return _build_of(commit) / "lib" / "libnccl-net-railweave.so"


def _has_torch() -> bool:
    return any(_VENV_PYTHON.parent.parent.glob("lib/python3*/site-packages/torch/version.py"))


def missing_file(environment: dict[str, str]) -> str | None:
    """Returns which file of .venv that a variable names is not there, and a remedy; None if all are."""
    lacking = [value for value in environment.values() if not Path(_from_root(value)).exists()
               and value.startswith(".venv/")]
    return f"{lacking[0]} is not there (tools/setup)" if lacking else None


def missing(name: str, programs: Path, preset: str | None = None) -> str | None:
    """Returns why the program cannot be run, and a remedy; None if it can."""
    if name == "iperf3":
        return None if shutil.which("iperf3") else "iperf3 is not there"
    name, _, commit = name.partition("@")
    if commit and name in _OF_COLLECTIVES:
        there = os.access(_build_of(commit) / "bin" / name, os.X_OK)
        return None if there else f"{name} of commit {commit} is not built (tools/build-commit {commit} {name})"
    if commit in _PLUGINS_OF_OTHERS and not _plugin_of(commit).exists():
        return f"{commit} is not there (link its library to build/peers/{_PLUGINS_OF_OTHERS[commit]})"
    if commit and not _plugin_of(commit).exists():
        return f"the plugin of commit {commit} is not built (tools/build-commit {commit} railweave_net)"
    if name == "instructions_perf" and not shutil.which("valgrind"):
        return "valgrind is not there (apt-get install valgrind)"
    if name in _WITH_TORCH and not _has_torch():
        return "torch is not in .venv (tools/setup torch)"
    if name in _WITH_TORCH and name != "gloo_perf" and not any(_package(programs).glob("railweave/_C.*.so")):
        return "the torch backend is not built (tools/build torch)"
    if name in _RUN_OTHERS:
        return next((reason for one in _RUN_OTHERS[name] if (reason := missing(one, programs, preset))), None)
    if name in _WITH_TORCH:
        return None
    if name == "mpi_perf" and not shutil.which("mpirun"):
        return "mpirun is not there (tools/setup packages)"
    if os.access(programs / name, os.X_OK):
        return None
    return f"{name} is not there" + (f" (tools/build {preset})" if preset else "")
