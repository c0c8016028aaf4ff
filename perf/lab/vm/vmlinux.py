"""Takes the uncompressed kernel out of Debian's boot image, so that QEMU starts the kernel without a BIOS and without
decompression. Fields of the image: Documentation/arch/x86/boot.rst of the kernel."""
from __future__ import annotations

import lzma
import struct
import subprocess
import zlib

from .errors import VmError

_SETUP_SECTORS = 0x1F1  # one byte
_MAGIC = 0x202  # "HdrS", then the version of the boot protocol, two bytes
_PAYLOAD = 0x248  # offset behind the real-mode code and length, four bytes each
_LEAST_PROTOCOL = 0x0208
_SECTOR = 512
_ELF = b"\x7fELF"


def _payload(image: bytes) -> bytes:
    magic, protocol = struct.unpack_from("<4sH", image, _MAGIC)
    if magic != b"HdrS" or protocol < _LEAST_PROTOCOL:
        raise VmError(f"the kernel's image begins with {magic!r}, protocol {protocol:#x}; expected HdrS and 0x208")
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    start = (max(image[_SETUP_SECTORS], 1) + 1) * _SECTOR + offset
    return image[start:start + length]


def _zstd(data: bytes) -> bytes:
    # Four bytes of length stand behind the data. The program reports them as an error, and its output is whole.
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=False).stdout


def _decompressed(payload: bytes) -> bytes:
    if payload.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    return payload


def extract(image: bytes) -> bytes:
    """Returns the kernel as an ELF file. Raises VmError if the image has none that this code can decompress."""
    if len(image) < _PAYLOAD + 8:
        raise VmError(f"the kernel's image has {len(image)} bytes; expected a bzImage")
    kernel = _decompressed(_payload(image))
    if not kernel.startswith(_ELF):
        raise VmError("the kernel's image holds no ELF file that xz, zstd or gzip unpacks")
    return kernel
