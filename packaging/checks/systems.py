"""Clean systems to install packages in: a fresh Debian, and this machine without its variables."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recipes import commands, places

_MIRROR = "http://deb.debian.org/debian"
_BASES = places.CACHE / "systems"
_HOSTNAME = "debian"
_HOSTS = f"127.0.0.1 localhost {_HOSTNAME}\n::1 localhost\n"  # Debian's installer names both, too
_SHOWN_OUTPUT = 4000  # characters of a failed command
_SHOWN_WORDS = 6
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CheckFailed(Exception):
    """A package does not do what it promises. The message has the output."""


@dataclass(frozen=True)
class System:
    """A place where commands run. `root`: its root folder; None: this machine. A Debian sees build/dist as /packages
    and the wheels of torch as /torch, both read-only. It shares this machine's network."""

    name: str
    root: Path | None
    packages: str
    torch: str
    home: str

    def words(self, command: list[str], settings: dict[str, str] | None = None) -> list[str]:
        """Returns the command line that runs `command` in the system with no variables but `settings`, PATH and HOME.
        A folder in the setting PATH comes before the system's."""
        given = {"HOME": self.home, "LANG": "C.UTF-8", **(settings or {})}
        given["PATH"] = ":".join([*([given["PATH"]] if "PATH" in given else []), _PATH])
        if self.root is None:
            variables = [f"{name}={value}" for name, value in given.items()]
            return ["env", "-i", f"--chdir={self.home}", *variables, *command]
        variables = [word for name, value in given.items() for word in ("--setenv", name, value)]
        return ["bwrap", "--die-with-parent", "--cap-add", "ALL", "--unshare-uts", "--hostname", _HOSTNAME,
                "--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys",
                "--ro-bind", str(places.OUT), self.packages, "--ro-bind", str(torch_wheels()), self.torch,
                "--chdir", self.home, "--clearenv", *variables, *command]

    def file(self, path: str) -> Path:
        """Returns where this machine has a file of the system."""
        return Path(path) if self.root is None else self.root / path.lstrip("/")

    def run(self, command: list[str], settings: dict[str, str] | None = None, *, limit_s: float = 300,
            expected: int = 0) -> str:
        """Returns what the command prints, errors too. Errors: CheckFailed, for another exit status than `expected`."""
        return finish(subprocess.Popen(self.words(command, settings), stdin=subprocess.DEVNULL, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"),
                      limit_s, expected)


def _shown(process: subprocess.Popen[str]) -> str:
    """The last words of a command line: the first ones set up the system."""
    return " ".join(process.args[-_SHOWN_WORDS:])


def finish(process: subprocess.Popen[str], limit_s: float, expected: int = 0) -> str:
    """Waits for a process and returns its output. Errors: CheckFailed."""
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise CheckFailed(f"{_shown(process)}: no end after {limit_s} s\n{output[-_SHOWN_OUTPUT:]}") from None
    if process.returncode != expected:
        raise CheckFailed(f"{_shown(process)} ended with {process.returncode}, expected {expected}\n"
                          f"{output[-_SHOWN_OUTPUT:]}")
    return output


def torch_wheels() -> Path:
    return places.CACHE / "torch"


def download_torch() -> None:
    """Puts the wheels of torch and of what .venv has beside torch into the cache. Errors: CommandFailed."""
    wanted = [places.ROOT / name for name in ("requirements.txt", "requirements-torch.txt")]
    text = "".join(file.read_text() for file in wanted)
    mark = torch_wheels() / "requirements"
    if mark.exists() and mark.read_text() == text:
        return
    shutil.rmtree(torch_wheels(), ignore_errors=True)
    commands.run("downloading torch", [places.ROOT / ".venv" / "bin" / "python", "-m", "pip",
                                       "--disable-pip-version-check", "download", "--only-binary", ":all:", "--dest",
                                       torch_wheels(), *(word for file in wanted for word in ("-r", file))])
    mark.write_text(text)


def _base(suite: str, include: list[str]) -> Path:
    """Returns a tar archive of a fresh Debian. Made once. Errors: CommandFailed."""
    archive = _BASES / f"{suite}.tar"
    if archive.exists():
        return archive
    folder = _BASES / suite
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    included = [f"--include={','.join(include)}"] if include else []
    commands.run(f"making a fresh Debian {suite}", ["debootstrap", "--variant=minbase", *included, suite, folder,
                                                    _MIRROR])
    part = archive.with_suffix(".part")
    commands.run(f"keeping the fresh Debian {suite}", ["tar", "--create", "--numeric-owner", f"--file={part}",
                                                       f"--directory={folder}", "."])
    shutil.rmtree(folder)
    part.rename(archive)
    return archive


@contextmanager
def debian(name: str, suite: str, include: list[str]) -> Iterator[System]:
    """A fresh Debian that is removed at the end. `include`: packages that it has beside the least. Errors:
    CommandFailed."""
    archive = _base(suite, include)
    folder = places.WORK / "systems" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        commands.run(f"unpacking {name}", ["tar", "--extract", "--numeric-owner", f"--file={archive}",
                                           f"--directory={folder}"])
        for mounted in ("packages", "torch"):
            (folder / mounted).mkdir()
        (folder / "etc" / "hosts").write_text(_HOSTS)
        yield System(name, folder, "/packages", "/torch", "/root")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def this_machine(name: str) -> Iterator[System]:
    """This machine, with an empty home folder that is removed at the end."""
    folder = places.WORK / "systems" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield System(name, None, str(places.OUT), str(torch_wheels()), str(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
