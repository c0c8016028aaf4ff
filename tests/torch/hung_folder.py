"""Makes system calls hang, as on a network's file system whose server is gone."""
from __future__ import annotations

import ctypes
import platform
import struct

# Numbers of prctl and of the calls that make folders (linux/prctl.h, asm/unistd.h), by machine.
_PR_SET_NO_NEW_PRIVS = 38
_CALLS = {"x86_64": (317, 83), "aarch64": (277, 34)}  # seccomp, mkdir or mkdirat
# linux/seccomp.h: all threads get the filter, and a descriptor answers for the calls.
_SET_MODE_FILTER, _TSYNC, _NEW_LISTENER, _TSYNC_ESRCH = 1, 1, 8, 16
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # linux/filter.h


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def hang_in_mkdir() -> bool:
    """From now on mkdir() does not return in this process. Returns False if this system cannot do that."""
    seccomp, mkdir = _CALLS.get(platform.machine(), (0, 0))
    steps = [(_LOAD, 0, 0, 0), (_IF_EQUAL, 0, 1, mkdir), (_RETURN, 0, 0, _ASK), (_RETURN, 0, 0, _ALLOW)]
    program = _Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None)
    flags = _TSYNC | _NEW_LISTENER | _TSYNC_ESRCH
    # Nobody reads the descriptor, so no call is answered.
    return bool(seccomp) and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 and libc.syscall(
        ctypes.c_long(seccomp), _SET_MODE_FILTER, flags, ctypes.byref(program)) > 0
