"""The requested lab: hosts, NICs, rates. Pure values; nothing here touches the kernel.

Rates are in bits per second, as for `tc` (decimal units, Ethernet headers counted)."""
from __future__ import annotations

import re
from dataclasses import dataclass

_RATE = re.compile(r"^(\d+(?:\.\d+)?)(bit|kbit|mbit|gbit|tbit)$", re.IGNORECASE)
_UNIT = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
# An interface name has at most 15 bytes. The prefix leaves room for a three-digit number.
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,10}[a-z_]$", re.IGNORECASE)
kMaxHosts = 32
kMaxNics = 64
kSwitchBufferBytes = 2 * 1024 * 1024
kLeastBufferBytes = 16 * 1024  # ten full frames


class SpecError(ValueError):
    """The requested lab is impossible. The message names the option and what was expected."""


@dataclass(frozen=True)
class Spec:
    """A checked request. Tuples are per host. `rates_bps[h][n]` is None for an unshaped NIC."""

    nics: tuple[int, ...]
    rates_bps: tuple[tuple[int | None, ...], ...]
    names: tuple[str, ...]
    shape: str = "host"  # host: tbf on the host's own egress; switch: tbf on the switch's egress toward the host; both
    buffer_bytes: int = kSwitchBufferBytes  # of each port, if the switch's egress is shaped
    network: str = "auto"  # rails, one-switch, routed; see `wiring`
    subnets: str = "disjoint"
    routes: str = "metric"  # of the hosts of a routed network: metric, one, rail, policy
    stateful: bool = False  # the router's firewall passes packets that open a connection or belong to one
    pods: bool = False  # the NICs are macvlans of a node's uplinks, beside a management eth0
    management: bool = False  # ranks find each other by an interface beside the NICs; pods always have one
    nowhere: tuple[tuple[int, int], ...] = ()  # (host, NIC): the port is alone on its own bridge
    ipv6: bool = False  # IPv6 addresses only
    dual_stack: bool = False  # IPv6 addresses beside IPv4 ones
    disable_ipv6: bool = False
    arp: str = "default"
    rp_filter: int = 0
    mtu_bytes: int = 1500
    cc: str = "cubic"

    @property
    def hosts(self) -> int:
        return len(self.nics)

    @property
    def has_management(self) -> bool:
        return self.management or self.pods

    @property
    def wiring(self) -> str:
        """cables: NIC n of host 0 and NIC n of host 1 are the two ends of one cable; rails: a switch per rail;
        one-switch; routed."""
        if self.network != "auto":
            return self.network
        if self.subnets == "shared":
            return "one-switch"
        plain = self.shape == "host" and not self.pods and not self.nowhere
        return "cables" if plain and self.hosts == 2 and self.nics[0] == self.nics[1] else "rails"


def parse_rate(text: str) -> int:
    """Converts `2gbit` to bits per second. Raises SpecError."""
    match = _RATE.match(text.strip())
    if not match:
        raise SpecError(f"rate '{text}': expected a number and bit, kbit, mbit, gbit or tbit, such as 2gbit")
    rate_bps = int(float(match[1]) * _UNIT[match[2].lower()])
    if rate_bps < 1000:
        raise SpecError(f"rate '{text}': at least 1kbit (use `tools/lab set --cut` for no traffic at all)")
    return rate_bps


def parse_counts(text: str, hosts: int) -> tuple[int, ...]:
    """Converts `2` or `2,4` (one per host) to the number of NICs per host. Raises SpecError."""
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise SpecError(f"--nics '{text}': expected a number, or one number per host such as 2,4") from None
    if len(counts) == 1:
        counts *= hosts
    if len(counts) != hosts:
        raise SpecError(f"--nics '{text}': {len(counts)} numbers for {hosts} hosts")
    if any(not 1 <= count <= kMaxNics for count in counts):
        raise SpecError(f"--nics '{text}': each host has 1 to {kMaxNics} NICs")
    return counts


def parse_rates(text: str | None, nics: tuple[int, ...]) -> tuple[tuple[int | None, ...], ...]:
    """Converts `2gbit,1gbit` (by NIC, repeated as needed; `/` separates hosts) to bits per second. Raises SpecError."""
    if text is None:
        return tuple((None,) * count for count in nics)
    per_host = text.split("/")
    if len(per_host) == 1:
        per_host *= len(nics)
    if len(per_host) != len(nics):
        raise SpecError(f"--rate '{text}': {len(per_host)} lists for {len(nics)} hosts")
    rates = []
    for count, part in zip(nics, per_host):
        given = [parse_rate(rate) for rate in part.split(",")]
        if len(given) > count:
            raise SpecError(f"--rate '{part}': {len(given)} rates for {count} NICs")
        rates.append(tuple(given[nic % len(given)] for nic in range(count)))
    return tuple(rates)


def parse_names(text: str, hosts: int) -> tuple[str, ...]:
    """Converts `eth` or `eth,ens` (one prefix per host) to NIC name prefixes. Raises SpecError."""
    names = tuple(text.split(","))
    if len(names) == 1:
        names *= hosts
    if len(names) != hosts:
        raise SpecError(f"--names '{text}': {len(names)} prefixes for {hosts} hosts")
    for name in names:
        if not _NAME.match(name) or name == "lo":
            raise SpecError(f"--names '{name}': expected 2 to 12 letters, digits or _, no digit first or last")
    return names


def parse_nic(option: str, text: str, nics: tuple[int, ...]) -> tuple[int, int]:
    """Converts `0:1` to host and NIC. Raises SpecError."""
    try:
        host, nic = (int(part) for part in text.split(":"))
    except ValueError:
        raise SpecError(f"{option} '{text}': expected HOST:NIC, such as 0:1") from None
    if not (0 <= host < len(nics) and 0 <= nic < nics[host]):
        raise SpecError(f"{option} '{text}': no such NIC")
    return host, nic


def make_spec(hosts: int, nics: str, rate: str | None = None, names: str | None = None,
              nowhere: list[str] | None = None, **rest: object) -> Spec:
    """Checks everything that the command line gives. `names`: None means `eth`, or `net` in pods. Raises SpecError."""
    if not 1 <= hosts <= kMaxHosts:
        raise SpecError(f"--hosts {hosts}: 1 to {kMaxHosts}")
    counts = parse_counts(nics, hosts)
    prefixes = names or ("net" if rest.get("pods") else "eth")
    alone = tuple(parse_nic("--nowhere", text, counts) for text in nowhere or [])
    rates_bps, of_hosts = parse_rates(rate, counts), parse_names(prefixes, hosts)
    spec = Spec(counts, rates_bps, of_hosts, nowhere=alone, **rest)  # type: ignore[arg-type]
    _check_together(spec)
    return spec


def _check_together(spec: Spec) -> None:
    if not 1280 <= spec.mtu_bytes <= 65535:
        raise SpecError(f"--mtu {spec.mtu_bytes}: 1280 to 65535")
    if not kLeastBufferBytes <= spec.buffer_bytes < 2**31:
        raise SpecError(f"--buffer {spec.buffer_bytes}: at least {kLeastBufferBytes} bytes, and less than 2 GiB")
    if spec.buffer_bytes != kSwitchBufferBytes and spec.shape == "host":
        raise SpecError("--buffer: --shape host shapes no port of a switch; --shape switch or both does")
    if spec.network == "routed" and spec.subnets == "shared":
        raise SpecError("--network routed: every NIC is in a subnet of its own, --subnets shared cannot be")
    if spec.routes != "metric" and spec.network != "routed":
        raise SpecError(f"--routes {spec.routes}: only --network routed has routers")
    if spec.stateful and spec.network != "routed":
        raise SpecError("--stateful: only --network routed has a router with a firewall")
    if spec.ipv6 and spec.dual_stack:
        raise SpecError("--ipv6 has IPv6 addresses only, --dual-stack has both: choose one")
    if spec.disable_ipv6 and (spec.ipv6 or spec.dual_stack):
        raise SpecError("--disable-ipv6: --ipv6 and --dual-stack need IPv6")
    if spec.pods and "eth" in spec.names:
        raise SpecError("--names eth: eth0 is the management interface of a pod")
