"""Fetches Debian's kernel and unpacks the image and those modules that a VM can use."""
from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from . import vmlinux
from .apt import Suite
from .commands import run_shown, say
from .errors import VmError
from .paths import kBuild, kKernel

_SUITE = "trixie-backports"
_META_PACKAGE = "linux-image-amd64"
# Packages that hold the image or modules. The meta package depends on one of them, and one may depend on another.
_OF_KERNEL = re.compile(r"linux-(image|binary|modules)-\d")
_DEPMOD_LIMIT_S = 60.0
# Paths below lib/modules/VERSION, as beginnings.
_MODULES = ("modules.", "kernel/arch/x86/crypto/", "kernel/crypto/", "kernel/lib/", "kernel/net/", "kernel/fs/9p/",
            "kernel/fs/netfs/", "kernel/fs/fscache/", "kernel/fs/overlayfs/", "kernel/drivers/virtio/",
            "kernel/drivers/infiniband/core/", "kernel/drivers/infiniband/sw/", "kernel/drivers/dca/")
# Drivers of interfaces that need no hardware are files of this folder itself.
_INTERFACES = re.compile(r"kernel/drivers/net/[^/]+\.ko(\.xz|\.zst)?")
_MODULE_PATH = re.compile(r"(?:\./)?(?:usr/)?lib/modules/([^/]+)/(.+)")
_IMAGE_PATH = re.compile(r"(?:\./)?boot/vmlinuz-.+|(?:\./)?(?:usr/)?lib/modules/[^/]+/vmlinuz")


def _names(suite: Suite) -> list[str]:
    """Returns the names of the packages that hold the suite's newest kernel. Raises VmError."""
    found: list[str] = []
    ask = [_META_PACKAGE]
    while ask:
        for name in suite.dependencies(ask.pop()):
            if _OF_KERNEL.match(name) and name not in found:
                found.append(name)
                ask.append(name)
    if not found:
        raise VmError(f"{_SUITE}: {_META_PACKAGE} names no kernel")
    return found


def _wants(path: str) -> bool:
    return path.startswith(_MODULES) or bool(_INTERFACES.fullmatch(path))


def _unpack(package: Path, into: Path) -> None:
    """Unpacks the image as `vmlinuz` and the wanted modules. Raises VmError."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as files:
            for member in files:
                _unpack_member(files, member, into)
        process.stdout.read()  # the padding behind the archive: dpkg-deb fails if no one reads it
    if process.returncode != 0:
        raise VmError(f"dpkg-deb cannot unpack {package.name}")


def _unpack_member(files: tarfile.TarFile, member: tarfile.TarInfo, into: Path) -> None:
    module = _MODULE_PATH.fullmatch(member.name)
    if not member.isfile():
        return
    if _IMAGE_PATH.fullmatch(member.name):
        target = into / "vmlinuz"
    elif module and _wants(module[2]):
        target = into / "lib" / "modules" / module[1] / module[2]
    else:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as sink:
        shutil.copyfileobj(files.extractfile(member), sink)


def fetch(log: Path) -> None:
    """Makes paths.kKernel unless the folder is there. Raises VmError."""
    if kKernel.exists():
        return
    with tempfile.TemporaryDirectory(dir=kBuild, prefix="kernel-") as name:
        folder, new = Path(name), Path(name) / "new"
        new.mkdir()
        suite = Suite(_SUITE, folder / "apt")
        suite.update(log)
        for package in suite.download(_names(suite), folder, log):
            say(f"unpacking {package.name}")
            _unpack(package, new)
        if not (new / "vmlinuz").exists() or not (new / "lib" / "modules").exists():
            raise VmError(f"the kernel's packages of {_SUITE} hold no boot/vmlinuz or no lib/modules")
        (new / "vmlinux").write_bytes(vmlinux.extract((new / "vmlinuz").read_bytes()))
        version = next((new / "lib" / "modules").iterdir()).name
        run_shown(f"listing the modules of {version}", ["depmod", "-b", str(new), version], log, _DEPMOD_LIMIT_S)
        new.rename(kKernel)
