"""What a shipped file needs of a system: its libraries and their symbol versions, as readelf prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from recipes import commands
from recipes.targets import GLIBC

# glibc's own files. Everything else has to be inside the shipped file.
_GLIBC_FILES = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+")
_PLUGIN_SYMBOL = re.compile(r"ncclNetPlugin_v\d+")

# The newest symbol version of libstdc++ that each manylinux platform promises (PEP 600; gcc 10 to 14).
_LIBSTDCXX = [((3, 4, 28), 31), ((3, 4, 29), 34), ((3, 4, 30), 35), ((3, 4, 32), 38), ((3, 4, 33), 40)]
_LIBSTDCXX_NAMESPACES = ("GLIBCXX", "CXXABI")


@dataclass
class Needs:
    libraries: list[str] = field(default_factory=list)
    versions: dict[str, set[str]] = field(default_factory=dict)  # of a library: its symbol versions
    search_path: str = ""  # RPATH or RUNPATH
    exported: list[str] = field(default_factory=list)
    executable_stack: bool = False


def parse(text: str) -> Needs:
    """Reads what `readelf --wide --dynamic --version-info --dyn-syms --program-headers` prints."""
    needs = Needs()
    library = ""
    for line in text.splitlines():
        if found := re.search(r"\(NEEDED\)\s+Shared library: \[(.+)\]", line):
            needs.libraries.append(found[1])
        elif found := re.search(r"\(R(?:UN)?PATH\)\s+Library r(?:un)?path: \[(.*)\]", line):
            needs.search_path = found[1]
        elif found := re.search(r"Version: \d+\s+File: (\S+)\s+Cnt: \d+", line):
            library = found[1]
            needs.versions.setdefault(library, set())
        elif found := re.search(r"\bName: (\S+)\s+Flags: .*Version: \d+", line):
            needs.versions.setdefault(library, set()).add(found[1])
        elif found := re.search(r"^\s*\d+: [0-9a-f]+\s+\S+ \w+\s+(?:GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+(\S+) (\S+)", line):
            if found[1] != "UND":
                needs.exported.append(found[2].split("@")[0])
        elif re.search(r"^\s*GNU_STACK\s.*\bRWE\b", line):
            needs.executable_stack = True
    return needs


def needs_of(file: Path) -> Needs:
    """Errors: CommandFailed."""
    return parse(commands.output_of(["readelf", "--wide", "--dynamic", "--version-info", "--dyn-syms",
                                     "--program-headers", file]))


def version_numbers(version: str) -> tuple[int, ...] | None:
    """`GLIBC_2.17` gives (2, 17). None: the version is private or has no number."""
    name, _, numbers = version.partition("_")
    if name not in ("GLIBC", *_LIBSTDCXX_NAMESPACES) or not re.fullmatch(r"\d+(\.\d+)+", numbers):
        return None
    return tuple(int(number) for number in numbers.split("."))


def problems(needs: Needs, *, plugin: bool) -> list[str]:
    """Returns why a file would not run on every system with glibc 2.28: nothing if the file would run. `plugin`: the
    file may export NCCL's tables alone."""
    found = [f"needs {library}; link the library statically" for library in needs.libraries
             if not _GLIBC_FILES.fullmatch(library)]
    for library, versions in sorted(needs.versions.items()):
        for version in sorted(versions):
            numbers = version_numbers(version)
            if numbers is None or not version.startswith("GLIBC_") or numbers > GLIBC:
                found.append(f"needs {version} of {library}, expected at most GLIBC_{GLIBC[0]}.{GLIBC[1]}")
    if needs.search_path:
        found.append(f"searches libraries in {needs.search_path}; link without -rpath")
    if needs.executable_stack:
        found.append("has an executable stack; mark the assembly .note.GNU-stack")
    if plugin:
        found += [f"exports {name}; hide the symbol (plugin/nccl/exports.map)" for name in needs.exported
                  if not _PLUGIN_SYMBOL.fullmatch(name)]
        if not any(_PLUGIN_SYMBOL.fullmatch(name) for name in needs.exported):
            found.append("exports no table of NCCL's")
    return found


def wheel_platform(needs: Needs, machine: str) -> str:
    """Returns the oldest platform tag that has every symbol version. The libraries of torch are not counted, because
    torch's wheel has them. Errors: ValueError, for a symbol version that no known platform has."""
    least = 17  # the oldest platform with a tag of this form
    for versions in needs.versions.values():
        for version in versions:
            least = max(least, _minor_with(version))
    return f"manylinux_2_{least}_{machine}"


def _minor_with(version: str) -> int:
    """Returns the minor version of the first glibc whose platform has a symbol version."""
    name = version.partition("_")[0]
    numbers = version_numbers(version)
    if name == "GLIBC" and numbers is not None:
        return numbers[1]
    if name == "GLIBCXX" and numbers is not None:
        for newest, minor in _LIBSTDCXX:
            if numbers <= newest:
                return minor
    if name in ("CXXABI", "GCC", "GOMP") or name.startswith("LIB"):
        return 0  # these versions are older than the GLIBCXX that comes with them, or torch's own
    raise ValueError(f"found the symbol version {version}; recipes/elf.py has the platforms that are known")
