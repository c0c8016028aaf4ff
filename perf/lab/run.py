"""`tools/lab run`, from the checked request to the exit status."""
from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field, replace

from . import congestion, faults, hosts, ready, state, topology
from .guardian import Guardian, kStopping
from .iproute import CommandError
from .plan import Plan, make_plan
from .ranks import Ranks
from .spec import Spec

kTimedOut, kNotMade = 124, 125


@dataclass
class Request:
    spec: Spec
    command: list[str]
    loopback: bool = False
    per_host: int = 1
    own_pids: bool = False
    favoured: bool = False
    timeout_s: float = 0.0  # 0: no limit
    cuts: list[tuple[int, int]] = field(default_factory=list)  # (host, NIC) pairs without traffic from the start


class Stopped(BaseException):
    """A signal asked the lab to end."""

    def __init__(self, number: int) -> None:
        self.status = kTimedOut if number == signal.SIGALRM else 128 + number


def _say(line: str) -> None:
    print(f"lab: {line}", file=sys.stderr, flush=True)


def _on_signal(number: int, _frame: object) -> None:
    for stopping in kStopping:
        signal.signal(stopping, signal.SIG_IGN)  # further signals are ignored: the teardown is under way
    raise Stopped(number)


def _why_no_namespaces() -> str | None:
    if os.geteuid() != 0:
        return "not root"
    missing = [tool for tool in ("ip", "tc", "unshare") if shutil.which(tool) is None]
    return f"no {', '.join(missing)} (install iproute2 and util-linux)" if missing else None


def run(request: Request) -> int:
    """Runs the request. Returns the worst exit status of the ranks; 128 + signal after a signal, 124 after the timeout,
    125 if the lab itself could not be made."""
    loopback = request.loopback
    why = _why_no_namespaces()
    if why and not loopback:
        _say(f"no network namespaces here ({why}): all ranks run on this machine over loopback, unshaped")
        loopback = True
    name = state.new_name()
    plan = Plan(name, request.spec.shape, "loopback", None, []) if loopback else make_plan(request.spec, name)
    try:
        claim = state.Claim(name)
    except OSError as error:
        _say(str(error))
        return kNotMade
    guardian = Guardian(plan, claim)
    ranks = Ranks(guardian)
    status = kNotMade
    try:
        for number in kStopping:
            signal.signal(number, _on_signal)
        if loopback or not _make(plan, request, claim):
            _start_loopback(name, request, ranks)
        else:
            ranks.start([replace(rank, favoured=request.favoured)
                         for rank in hosts.namespace_ranks(plan, request.command, request.per_host, request.own_pids)])
        if request.timeout_s > 0:
            signal.setitimer(signal.ITIMER_REAL, request.timeout_s)
        status = ranks.wait()
    except Stopped as stopped:
        status = stopped.status
        _say("timeout: ending all ranks" if status == kTimedOut else "stopped: ending all ranks")
    except (CommandError, ready.NotReady, OSError) as error:
        _say(str(error))
    for number in kStopping:
        signal.signal(number, signal.SIG_IGN)
    guardian.release()
    ranks.drain()
    if not guardian.wait():
        _say(f"the teardown of {name} failed in part; `tools/lab clean` removes what is left")
        return status or kNotMade
    return status


def _make(plan: Plan, request: Request, claim: state.Claim) -> bool:
    """Builds the lab. Returns False if this machine refuses namespaces. Raises CommandError, NotReady."""
    state.clean_leftovers()
    lock = os.open(state.folder() / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first `ip netns add` of a machine mounts; two at once collide
        topology.make_namespaces(plan)
    except CommandError as error:
        if "not permitted" not in str(error) and "Permission denied" not in str(error):
            raise
        _say(f"no network namespaces here ({error}): all ranks run on this machine over loopback, unshaped")
        return False
    finally:
        os.close(lock)
    topology.build(plan, request.spec)
    ready.wait_until_ready(plan, not request.spec.disable_ipv6)
    topology.finish(plan, request.spec)
    for host, nic in request.cuts:
        faults.cut(plan.hosts[host].nics[nic])
    claim.write(plan)
    return True


def _start_loopback(name: str, request: Request, ranks: Ranks) -> None:
    cc = request.spec.cc
    try:
        congestion.allow(cc)
    except CommandError:
        cc = congestion.current()  # without the privilege, keep the kernel's own
    ranks.start([replace(rank, favoured=request.favoured)
                 for rank in hosts.loopback_ranks(name, request.spec.hosts, request.command, request.per_host, cc)])
