"""TCP congestion control. A namespace may use only algorithms that the host's tcp_allowed_congestion_control lists."""
from __future__ import annotations

from pathlib import Path

from .iproute import CommandError

_SYSCTL = Path("/proc/sys/net/ipv4")


def _words(name: str) -> list[str]:
    return (_SYSCTL / name).read_text().split()


def allow(cc: str) -> None:
    """Adds `cc` to the algorithms that this machine allows. The change is host-wide and stays, since other labs may
    need it. Raises CommandError."""
    try:
        allowed = _words("tcp_allowed_congestion_control")
        if cc in allowed:
            return
        available = _words("tcp_available_congestion_control")
        if cc not in available:
            raise CommandError(f"--cc {cc}: this kernel has {', '.join(available)}")
        (_SYSCTL / "tcp_allowed_congestion_control").write_text(" ".join([*allowed, cc]))
    except OSError as error:
        raise CommandError(f"allowing congestion control {cc}: {error}") from error


def current() -> str:
    """Returns this namespace's default algorithm."""
    return _words("tcp_congestion_control")[0]
