"""The command line of QEMU for one VM. Pure, but for the clock rate of this host's cores."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .paths import kImage, kInitramfs, kKernel

kProgram = "qemu-system-x86_64"
# The machine microvm has no BIOS, no PCI and no disks, so it boots fast. "max" is all that the software emulation (tcg)
# has: AVX2, not AVX-512.
_MACHINE = ("-M", "microvm,acpi=on", "-cpu", "max")
# One thread emulates all cores. With a thread for each core, one boot of about 40 crashed (Oops: int3): one core ran an
# instruction that another had just patched.
_ACCEL = ("-accel", "tcg,thread=single,tb-size=512")
# The guest's clock advances by 2 ns with each instruction, and with the host's clock while the guest has nothing to do.
_STEADY = ("-icount", "shift=1,sleep=on", "-rtc", "clock=vm")
_STEADY_TSC_KHZ = 1_000_000
_DEVICES = ("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console")
# A panic or reboot ends QEMU (-no-reboot). Critical messages of the kernel go to the console, and all after a panic.
_KERNEL = ("console=ttyS0", "quiet", "loglevel=3", "panic=-1", "reboot=t", "nokaslr", "mitigations=off",
           "random.trust_cpu=on", "no_timer_check", "tsc=reliable")


@dataclass
class Share:
    """A folder of this host that the guest mounts by its tag."""

    tag: str
    folder: Path
    read_only: bool = False


def _tsc_khz() -> int:
    """Returns the rate of this host's time stamp counter, which is the guest's too."""
    found = re.search(r"^bogomips\s*:\s*([\d.]+)", Path("/proc/cpuinfo").read_text(), re.M)
    return int(float(found[1]) * 500) if found else 0


def _of_share(share: Share) -> list[str]:
    path = str(share.folder).replace(",", ",,")
    access = ",readonly=on" if share.read_only else ""
    return ["-fsdev", f"local,id={share.tag},path={path},security_model=none,multidevs=remap{access}",
            "-device", f"virtio-9p-device,fsdev={share.tag},mount_tag={share.tag}"]


def command(cores: int, memory_mb: int, shares: list[Share], steady: bool = False,
            kernel_append: str = "") -> list[str]:
    """Returns QEMU's arguments. The guest's console is QEMU's standard output. `steady`: see _STEADY."""
    rate = _STEADY_TSC_KHZ if steady else _tsc_khz()
    # Without the rate, the guest measures it against an emulated timer, fails on a busy host and hangs.
    words = [*_KERNEL, f"vm.kernel={kKernel}", *([f"tsc_early_khz={rate}"] if rate else []), kernel_append]
    return [kProgram, *_MACHINE, *_ACCEL, *(_STEADY if steady else ()), *_DEVICES, "-smp", str(cores),
            "-m", str(memory_mb), *(word for share in shares for word in _of_share(share)),
            "-kernel", str(kImage), "-initrd", str(kInitramfs), "-append", " ".join(words)]
