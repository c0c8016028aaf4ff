// The settings of the engine and the plugin: each variable's name, type, default, help and field.
#include "base/config_section.h"
#include "base/config_setting.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>

namespace railweave {
namespace {

constexpr std::size_t kInterfaceNameBytesMax = 15;   // IFNAMSIZ less its zero
constexpr std::size_t kCongestionNameBytesMax = 15;  // TCP_CA_NAME_MAX less its zero
// The wires between hosts of plugin/engine/rails/wires.cc.
constexpr std::array<std::string_view, 3> kWireNames{"tcp", "verbs", "ofi"};
constexpr std::size_t kStatsDirBytesMax = 75;  // sun_path holds 107, a slash and the socket's name up to 32

// Adds the names of a comma-separated list to `names`. False: a name does not fit, or comes twice.
template <class Fits>
bool parse_names(std::string_view text, std::vector<std::string>& names, const Fits& fits) {
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view name = text.substr(from, comma - from);
    if (!fits(name) || std::ranges::find(names, name) != names.end()) return false;
    names.emplace_back(name);
    from = comma + 1;
  }
  return true;
}

bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() <= kInterfaceNameBytesMax && std::ranges::all_of(name, is_graphic_ascii) &&
         name.find('/') == name.npos;
}

bool parse_rails(std::string_view text, Config& config) {
  config.rails.clear();
  return text.empty() || parse_names(text, config.rails, is_interface_name);
}

bool is_wire_name(std::string_view name) { return std::ranges::find(kWireNames, name) != kWireNames.end(); }

bool parse_wires(std::string_view text, Config& config) {
  config.wires.clear();
  return parse_names(text, config.wires, is_wire_name);
}

bool parse_family(std::string_view text, Config& config) {
  if (text.empty())
    config.family = AddressFamily::any;
  else if (text == "AF_INET")
    config.family = AddressFamily::v4;
  else if (text == "AF_INET6")
    config.family = AddressFamily::v6;
  else
    return false;
  return true;
}

std::string family_text(const Config& config) {
  switch (config.family) {
    case AddressFamily::v4: return "AF_INET";
    case AddressFamily::v6: return "AF_INET6";
    case AddressFamily::any: break;
  }
  return "";
}

bool parse_devices(std::string_view text, Config& config) {
  config.devices = text == "rails" ? DeviceModel::rails : DeviceModel::aggregate;
  return text == "rails" || text == "aggregate";
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_number(ValueKind::integer, text);
  const bool fits = port && *port >= 1 && *port <= 65535;
  return fits ? std::optional(static_cast<std::uint16_t>(*port)) : std::nullopt;
}

bool parse_ports(std::string_view text, Config& config) {
  config.ports = {};
  if (text.empty()) return true;
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash < text.size() ? parse_port(text.substr(dash + 1)) : std::nullopt;
  if (!first || !last || *first > *last) return false;
  config.ports = {*first, *last};
  return true;
}

bool parse_congestion(std::string_view text, Config& config) {
  config.congestion_control = text;
  return text.size() <= kCongestionNameBytesMax && std::ranges::all_of(text, is_graphic_ascii);
}

bool parse_stats_dir(std::string_view text, Config& config) {
  config.stats_dir = text;
  return text.empty() || (text.front() == '/' && text.size() <= kStatsDirBytesMax && text.find('\0') == text.npos);
}

bool parse_key_file(std::string_view text, Config& config) {
  config.key_file = text;
  return text.empty() || is_absolute_path(text);
}

bool parse_network_status_file(std::string_view text, Config& config) {
  config.network_status_file = text;
  return text.empty() || is_absolute_path(text);
}

bool parse_ofi_library(std::string_view text, Config& config) {
  config.ofi_library = text;
  return text.empty() || is_absolute_path(text);
}

constexpr const char* kSwitchForm = "1 or on, 0 or off";

bool parse_switch(std::string_view text, bool& on) {
  on = text == "1" || text == "on";
  return on || text == "0" || text == "off";
}

bool parse_shm(std::string_view text, Config& config) {
  config.shm.reset();
  return text.empty() || parse_switch(text, config.shm.emplace());
}

bool parse_checksum(std::string_view text, Config& config) { return parse_switch(text, config.checksum); }

bool parse_encrypt(std::string_view text, Config& config) { return parse_switch(text, config.encrypt); }

constexpr std::int64_t kSecond = 1'000'000'000;

// As NCCL does: strtoll, and its default where that overflows.
bool parse_optional_completion(std::string_view text, Config& config) {
  errno = 0;
  const long long value = std::strtoll(std::string(text).c_str(), nullptr, 0);
  config.optional_completion = text.empty() || errno != 0 || value != 0;
  return true;
}

constexpr Setting kSettings[] = {
    {.name = "NCCL_SOCKET_IFNAME",
     .default_meaning = "the interfaces of the best kind on this host; railweave info says which, and why",
     .help = "Which interfaces become rails, as in NCCL: a comma-separated list of name prefixes. `^` in front "
             "excludes the interfaces that match, `=` asks for exact names, `^=` excludes exact names.",
     .form = "a comma-separated list of interface name prefixes, optionally behind ^, = or ^=",
     .parse_text = [](std::string_view text, Config& c) { return c.interfaces = text, true; },
     .text_of = [](const Config& c) { return c.interfaces; }},
    {.name = "NCCL_SOCKET_FAMILY",
     .default_meaning = "either",
     .help = "Address family of every lane, as in NCCL.",
     .form = "AF_INET or AF_INET6",
     .parse_text = parse_family,
     .text_of = family_text},
    {.name = "NCCL_NET_OPTIONAL_RECV_COMPLETION",
     .help = "NCCL's own switch. With 0, NCCL does not say which receive buffers it reads while data lands. "
             "Receives of up to 614,400 bytes then take one copy more.",
     .form = "an integer as NCCL reads it; 0 and text without a number are off",
     .parse_text = parse_optional_completion,
     .text_of = [](const Config& c) -> std::string { return c.optional_completion ? "1" : "0"; }},
    {.name = "RAILWEAVE_RAILS",
     .default_meaning = "chosen by NCCL_SOCKET_IFNAME",
     .help = "The interfaces to use as rails, in this order, by exact name. Overrides `NCCL_SOCKET_IFNAME`. A "
             "name that does not exist is an error. An interface that is down or has no address becomes a rail "
             "when it is up. If no interface of the list can be used, the engine does not start.",
     .form = "a comma-separated list of distinct interface names, each of 1 to 15 characters",
     .parse_text = parse_rails,
     .text_of = [](const Config& c) { return fmt::format("{}", fmt::join(c.rails, ",")); }},
    {.name = "RAILWEAVE_NETWORK_STATUS_FILE",
     .default_meaning = "`/etc/podinfo/network-status`, if it exists",
     .help = "In a Kubernetes pod, the file that has the annotation `k8s.v1.cni.cncf.io/network-status` "
             "(`docs/operate/kubernetes.md`). The interfaces of the pod's additional networks become the rails, if "
             "the pod has any. `RAILWEAVE_RAILS` and a list in `NCCL_SOCKET_IFNAME` override the file.",
     .form = "an absolute path of at most 4095 bytes, or nothing",
     .parse_text = parse_network_status_file,
     .text_of = [](const Config& c) { return c.network_status_file; }},
    {.name = "RAILWEAVE_WIRES",
     .help = "The wires between hosts, the preferred one first. A pair of rails uses the first wire of the dialling "
             "end's list that both ends have there. `tcp` works everywhere. `verbs` needs RDMA NICs (RoCE v2) and "
             "libibverbs, `ofi` needs libfabric. Without `tcp` in the list, rails without the other wires carry "
             "nothing. `railweave info` says which rail has which wire, and why not.",
     .form = "a comma-separated list of distinct names out of tcp, verbs and ofi",
     .parse_text = parse_wires,
     .text_of = [](const Config& c) { return fmt::format("{}", fmt::join(c.wires, ",")); }},
    {.name = "RAILWEAVE_OFI_LIBRARY",
     .default_meaning = "libfabric.so.1, where the dynamic linker finds it",
     .help = "The library that the wire `ofi` loads: libfabric 1.17 or later.",
     .form = "an absolute path of at most 4095 bytes, or nothing",
     .parse_text = parse_ofi_library,
     .text_of = [](const Config& c) { return c.ofi_library; }},
    {.name = "RAILWEAVE_DEVICES",
     .help = "What NCCL sees. `aggregate`: one device whose speed is the sum of all rails, so every connection "
             "is striped over all of them. `rails`: one device per rail.",
     .form = "aggregate or rails",
     .parse_text = parse_devices,
     .text_of = [](const Config& c) -> std::string { return c.devices == DeviceModel::rails ? "rails" : "aggregate"; }},
    {.name = "RAILWEAVE_PORTS",
     .default_meaning = "ports that the kernel chooses",
     .help = "TCP ports to listen on, for firewalls. A process takes one port at each address of its rails, not "
             "necessarily the same one. Give at least as many ports as processes run on the host, and twice as many "
             "while one address is on two rails.",
     .form = "first-last, two ports from 1 to 65535 with first <= last",
     .parse_text = parse_ports,
     .text_of = [](const Config& c) { return c.ports.first ? fmt::format("{}-{}", c.ports.first, c.ports.last) : ""; }},
    {.name = "RAILWEAVE_LANES_PER_RAIL",
     .kind = ValueKind::integer,
     .default_meaning =
         "one per 25 Gb/s of the slower rail's speed, at least four per member of a bond, eight for a routable "
         "address of `lo`",
     .help = "TCP connections between a local and a remote rail. All streams between two processes share them.",
     .min = 0,
     .max = 16,
     .set_number = [](std::int64_t n, Config& c) { c.lanes_per_rail = static_cast<int>(n); },
     .number_of = [](const Config& c) { return std::int64_t{c.lanes_per_rail}; }},
    {.name = "RAILWEAVE_EAGER_LIMIT",
     .kind = ValueKind::size,
     .help = "Messages up to this size may be sent before their receive is posted. 0: only empty messages.",
     .min = 0,
     .max = kEagerLimitMaxBytes,
     .set_number = [](std::int64_t n, Config& c) { c.eager_limit_bytes = static_cast<std::size_t>(n); },
     .number_of = [](const Config& c) { return static_cast<std::int64_t>(c.eager_limit_bytes); }},
    {.name = "RAILWEAVE_ZEROCOPY_THRESHOLD",
     .kind = ValueKind::size,
     .default_meaning = "never",
     .help = "Writes of at least this size use `MSG_ZEROCOPY`. This pays on real network cards with large "
             "writes. On loopback and veth the kernel copies all the same.",
     .min = 0,
     .max = 1024 * MiB,
     .set_number = [](std::int64_t n, Config& c) { c.zerocopy_threshold_bytes = static_cast<std::size_t>(n); },
     .number_of = [](const Config& c) { return static_cast<std::int64_t>(c.zerocopy_threshold_bytes); }},
    {.name = "RAILWEAVE_TCP_CONGESTION",
     .default_meaning = "the kernel's default",
     .help = "Congestion control of every lane, for example `cubic` or `bbr`. The name must be in the kernel's "
             "`net.ipv4.tcp_allowed_congestion_control`, or the process privileged.",
     .form = "a name of at most 15 characters, such as cubic",
     .parse_text = parse_congestion,
     .text_of = [](const Config& c) { return c.congestion_control; }},
    {.name = "RAILWEAVE_TRAFFIC_CLASS",
     .kind = ValueKind::integer,
     .default_meaning = "what NCCL asks for, else 0",
     .help = "The IP TOS or traffic class octet of every lane: DSCP in the upper six bits, so `0x68` is AF31.",
     .min = -1,
     .max = 255,
     .set_number = [](std::int64_t n, Config& c) { c.traffic_class = static_cast<int>(n); },
     .number_of = [](const Config& c) { return std::int64_t{c.traffic_class}; }},
    {.name = "RAILWEAVE_CONNECT_TIMEOUT",
     .kind = ValueKind::seconds,
     .help = "How long a connection may take to come up before it is an error.",
     .min = kSecond / 10,
     .max = 3600 * kSecond,
     .set_number = [](std::int64_t n, Config& c) { c.connect_timeout = Nanos(n); },
     .number_of = [](const Config& c) { return std::int64_t{c.connect_timeout.count()}; }},
    {.name = "RAILWEAVE_PEER_TIMEOUT",
     .kind = ValueKind::seconds,
     .help = "How long a peer's kernel may leave everything unanswered, on all rails, before the peer counts "
             "as gone. Every request that needs the peer then ends with an error. Rails that come back sooner "
             "cost nothing but the time.",
     .min = 2 * kSecond,
     .max = 3600 * kSecond,
     .set_number = [](std::int64_t n, Config& c) { c.peer_timeout = Nanos(n); },
     .number_of = [](const Config& c) { return std::int64_t{c.peer_timeout.count()}; }},
    {.name = "RAILWEAVE_STALL_TIMEOUT",
     .kind = ValueKind::seconds,
     .help = "How long a peer may be stopped (SIGSTOP, a debugger, no time on its cores) while its kernel "
             "answers. Then every request that needs the peer ends with an error. After 5 s a warning names "
             "the peer. 0: no limit.",
     .min = 0,
     .max = 24 * 3600 * kSecond,
     .set_number = [](std::int64_t n, Config& c) { c.stall_timeout = Nanos(n); },
     .number_of = [](const Config& c) { return std::int64_t{c.stall_timeout.count()}; }},
    {.name = "RAILWEAVE_SHM",
     .default_meaning = "off under NCCL, on for collectives",
     .help = "Whether two processes of one host and one user use shared memory instead of TCP. Both must have "
             "the switch on and share a network namespace. NCCL has transports of its own within a host and "
             "needs none here.",
     .form = kSwitchForm,
     .parse_text = parse_shm,
     .text_of = [](const Config& c) -> std::string { return !c.shm   ? ""
                                                            : *c.shm ? "on"
                                                                     : "off"; }},
    {.name = "RAILWEAVE_KEY_FILE",
     .default_meaning = "none: anyone on the network may connect",
     .help = "A file whose content all processes of a job share. A process that cannot prove that it has the "
             "content is not let in (`docs/operate/admission.md`). The file belongs to root or to the "
             "process's user, has no permission for group and others, and holds 16 to 4096 bytes. If root owns it, "
             "one of the process's groups may read it (mode 0440). A newline at its end does not count. The file is "
             "read when an engine starts.",
     .form = "an absolute path of at most 4095 bytes, or nothing",
     .parse_text = parse_key_file,
     .text_of = [](const Config& c) { return c.key_file; }},
    {.name = "RAILWEAVE_CHECKSUM",
     .help = "Whether the data that this process sends over a network carries CRC32C checksums; frame headers "
             "always do. The receiver checks whatever its own setting. Wrong data is logged and sent again by "
             "a new connection or another rail. See `docs/operate/deployment.md` for the cost and when to use "
             "it.",
     .form = kSwitchForm,
     .parse_text = parse_checksum,
     .text_of = [](const Config& c) -> std::string { return c.checksum ? "on" : "off"; }},
    {.name = "RAILWEAVE_ENCRYPT",
     .help = "Whether data between hosts is encrypted and authenticated (TLS 1.3, "
             "`docs/operate/encryption.md`). The setting must be the same for all processes of a job and needs "
             "`RAILWEAVE_KEY_FILE`. Shared memory is not encrypted.",
     .form = kSwitchForm,
     .parse_text = parse_encrypt,
     .text_of = [](const Config& c) -> std::string { return c.encrypt ? "on" : "off"; }},
    {.name = "RAILWEAVE_STATS_DIR",
     .help = "The directory of the socket that `railweave info --pid` connects to. Empty: no socket.",
     .form = "an absolute path of at most 75 bytes, or nothing",
     .parse_text = parse_stats_dir,
     .text_of = [](const Config& c) { return c.stats_dir; }},
};

}  // namespace

const ConfigSection& engine_section() {
  static constexpr ConfigSection kSection{
      .title = "Engine and NCCL plugin",
      .about = "Read by every process that moves data: under NCCL, under torch, and in the perf programs.",
      .settings = kSettings};
  return kSection;
}

}  // namespace railweave
