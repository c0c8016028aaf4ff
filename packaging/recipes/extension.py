"""Makes the wheel `railweave-torch`: the extension for the torch and the Python of .venv, by the system's g++."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

from recipes import commands, debug_info, elf, licences, places, project, tarballs, wheels
from recipes.contents import Entry, debug_files
from recipes.sources import Source

_VENV_PYTHON = places.ROOT / ".venv" / "bin" / "python"
_LINKED_IN = ("fmt", "hwy", "openssl")  # Debian's builds of the same sources


def _build() -> Path:
    """Returns a folder with what CMake installs of the Python package. Errors: CommandFailed."""
    folder = places.WORK / "extension"
    shutil.rmtree(folder, ignore_errors=True)
    commands.run("building the extension", ["tools/build", "torch", "railweave_torch", "railweave_net", "railweave"])
    commands.run("installing the extension", ["cmake", "--install", "build/torch", "--component", "python", "--prefix",
                                              folder])
    return folder


def _python_version() -> str:
    """The version of .venv's Python, as 3.11."""
    return commands.output_of([_VENV_PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()


def wheel(sources: dict[str, Source]) -> list[Path]:
    """Returns the wheel, and the tarball of its debug information. Errors: CommandFailed; ValueError, if the platform
    of the compiler's libraries is not known."""
    folder = _build()
    file = next((folder / "railweave").glob("_C.*.so"))
    debug_info.split(file, folder / "lib" / "debug")
    built_for = (folder / "railweave" / "_built_for.py").read_bytes()
    python = _python_version()
    torch = project.torch_minor(built_for.decode())
    given = project.wheel_of_extension(project.pyproject(), project.remote(), torch, python)
    digits = python.replace(".", "")
    tag = f"cp{digits}-cp{digits}-{elf.wheel_platform(elf.needs_of(file), platform.machine())}"
    entries = [Entry(f"railweave/{file.name}", file.read_bytes()), Entry("railweave/_built_for.py", built_for)]
    for old in places.OUT.glob("railweave_torch-*"):  # another torch or Python may have had another name
        old.unlink()
    time = project.commit_time()
    made = wheels.write(given, tag, entries, licence=licences.own(), time=time,
                        third_party=licences.linked_in([sources[name] for name in _LINKED_IN], None))
    debug = made.with_name(f"{made.stem}-debug.tar.gz")
    tarballs.write(debug, made.stem, debug_files(folder, "lib/debug"), time)
    return [made, debug]
