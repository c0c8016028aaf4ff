"""The machines that packages are built for."""

from dataclasses import dataclass

GLIBC = (2, 28)  # RHEL 8, Debian 10: the oldest that a package runs on


@dataclass(frozen=True)
class Target:
    machine: str  # as `uname -m` prints
    debian: str  # Debian's name of the architecture
    openssl: str  # OpenSSL's name of the target

    @property
    def triplet(self) -> str:
        return f"{self.machine}-linux-gnu"

    @property
    def zig(self) -> str:
        return f"{self.triplet}.{GLIBC[0]}.{GLIBC[1]}"

    @property
    def wheel_platform(self) -> str:
        return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{self.machine}"


X86_64 = Target("x86_64", "amd64", "linux-x86_64")
AARCH64 = Target("aarch64", "arm64", "linux-aarch64")
TARGETS = [X86_64, AARCH64]
