"""README's section for torch in a system with both wheels, and what is left when one of them is uninstalled."""

from __future__ import annotations

import os
from pathlib import Path

from checks import readme
from checks.systems import CheckFailed, System

_SETTINGS = {"RAILWEAVE_RAILS": "lo", "OMP_NUM_THREADS": "1"}
_COMPILER_CACHE = {"CCACHE_DIR": os.environ.get("CCACHE_DIR", str(Path.home() / ".cache" / "ccache"))}
_GROUP = """import torch, torch.distributed as dist
dist.init_process_group('railweave', store=dist.HashStore(), rank=0, world_size=1)
ones = torch.ones(3)
dist.all_reduce(ones)
print(ones.tolist())
dist.destroy_process_group()
"""


def install(system: System, venv: str, *wanted: str, limit_s: float = 600) -> None:
    """Makes a virtual environment if there is none, and installs `wanted` into it: names, or options of pip's. No index
    is asked. Errors: CheckFailed."""
    if not system.file(f"{venv}/bin/pip").exists():
        system.run(["python3", "-m", "venv", venv])
    system.run([f"{venv}/bin/pip", "install", "--no-index", "--find-links", system.packages, "--find-links",
                system.torch, *wanted], _COMPILER_CACHE, limit_s=limit_s)


def uninstall(system: System, venv: str, name: str) -> None:
    system.run([f"{venv}/bin/pip", "uninstall", "--yes", name])


def check(system: System, venv: str) -> str:
    """Trains as README does, by two processes. Returns a line of what was seen. Errors: CheckFailed."""
    script = f"{system.home}/build/train.py"
    system.file(script).parent.mkdir(exist_ok=True)
    system.file(script).write_text(readme.training_script(), encoding="utf-8")
    output = system.run([f"{venv}/bin/torchrun", "--nproc-per-node", "2", script], _SETTINGS, limit_s=300)
    if "step" not in output:
        raise CheckFailed(f"train.py: expected a table of steps, found:\n{output}")
    traces = [rank for rank in (0, 1) if system.file(f"{system.home}/build/trace-{rank}.json").exists()]
    if traces != [0, 1]:
        raise CheckFailed(f"train.py: expected the traces of ranks 0 and 1, found those of {traces}\n{output}")
    return "two processes trained five steps"


def check_without_extension(system: System, venv: str) -> str:
    """`railweave` alone: torch loads, the programs run, and the backend's error names the command that installs the
    extension. Errors: CheckFailed."""
    uninstall(system, venv, "railweave-torch")
    system.run([f"{venv}/bin/python", "-c", "import railweave, torch"])
    system.run([f"{venv}/bin/railweave", "path"])
    output = system.run([f"{venv}/bin/python", "-c", _GROUP], _SETTINGS, expected=1)
    if "railweave_torch-" not in output:
        raise CheckFailed(f"without its extension: expected an error with railweave_torch-, found:\n{output}")
    return "the error names the wheel railweave_torch"


def check_without_railweave(system: System, venv: str) -> str:
    """`railweave-torch` alone: torch loads, and `railweave` makes all whole again. Errors: CheckFailed."""
    install(system, venv, "railweave[torch]")
    uninstall(system, venv, "railweave")
    system.run([f"{venv}/bin/python", "-c", "import torch"])
    install(system, venv, "railweave")
    if "[1.0, 1.0, 1.0]" not in system.run([f"{venv}/bin/python", "-c", _GROUP], _SETTINGS):
        raise CheckFailed("the backend, after railweave came back: expected an all-reduce of one rank")
    return "torch loads; the backend is back with railweave"


def check_sources(system: System, venv: str, sdist: str) -> str:
    """The sdist, compiled for a torch that is already installed. Returns a line of what was seen. Errors:
    CheckFailed."""
    install(system, venv, "torch", "numpy", "scikit-build-core")
    install(system, venv, "--no-build-isolation", f"{system.packages}/{sdist}", limit_s=1800)
    system.run([f"{venv}/bin/railweave", "path"])
    return check(system, venv)
