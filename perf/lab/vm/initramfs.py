"""Makes the VM's first file system: busybox, the modules that reach the host's files, and guest/init. The format is
cpio's "newc" (Documentation/driver-api/early-userspace/buffer-format.rst of the kernel)."""
from __future__ import annotations

import lzma
import os
import stat
import subprocess
from pathlib import Path

from .errors import VmError
from .paths import kGuest, kInitramfs, modules

_MODULES = ("virtio_mmio", "9pnet_virtio", "9p", "overlay")
_BUSYBOX = Path("/bin/busybox")
_FOLDERS = ("bin", "modules", "proc", "sys", "dev", "host", "written", "root")
_FIELDS = 13


def _entry(name: str, mode: int, data: bytes, number: int) -> bytes:
    path = name.encode() + b"\0"
    links = 1
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(path), 0)
    assert len(fields) == _FIELDS
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + path
    return _padded(header) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def archive(folders: list[str], files: dict[str, tuple[bytes, int]]) -> bytes:
    """Returns a cpio archive. `files`: content and permission bits by path. A folder precedes its files."""
    entries = [(name, stat.S_IFDIR | 0o755, b"") for name in folders]
    entries += [(name, stat.S_IFREG | bits, data) for name, (data, bits) in files.items()]
    parts = [_entry(*entry, number) for number, entry in enumerate(entries, 1)]
    return b"".join(parts) + _entry("TRAILER!!!", 0, b"", 0)


def _module_name(path: str) -> str:
    return Path(path).name.split(".ko")[0].replace("-", "_")


def load_order(dependencies: str, wanted: tuple[str, ...]) -> list[str]:
    """Returns the paths of the modules in the order in which to load them. `dependencies`: the text of modules.dep. A
    module that is not in the text is left out: the kernel has it built in."""
    needs = {}
    for line in dependencies.splitlines():
        path, _, rest = line.partition(":")
        needs[_module_name(path)] = [*reversed(rest.split()), path]
    return list(dict.fromkeys(path for name in wanted for path in needs.get(name.replace("-", "_"), [])))


def _read_module(path: Path) -> bytes:
    """Returns the module, uncompressed: busybox does not decompress."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout
    return data


def make() -> None:
    """Writes paths.kInitramfs. REQUIRES: the kernel is unpacked. Raises VmError."""
    folder = modules()
    order = load_order((folder / "modules.dep").read_text(), _MODULES)
    if not any(_module_name(path) == "overlay" for path in order):
        raise VmError(f"{folder} lacks overlay; remove build/vm and run tools/vm setup again")
    if not _BUSYBOX.exists():
        raise VmError(f"{_BUSYBOX}: not found (package busybox-static)")
    names = [Path(path).name.split(".ko")[0] + ".ko" for path in order]
    files = {"init": ((kGuest / "init").read_bytes(), 0o755), "bin/busybox": (_BUSYBOX.read_bytes(), 0o755),
             "modules/order": ("".join(f"{name}\n" for name in names).encode(), 0o644)}
    for name, path in zip(names, order):
        files[f"modules/{name}"] = (_read_module(folder / path), 0o644)
    new = kInitramfs.with_suffix(f".{os.getpid()}")
    new.write_bytes(archive(list(_FOLDERS), files))
    new.rename(kInitramfs)  # a VM that starts now reads the old file or the new one, never a part
