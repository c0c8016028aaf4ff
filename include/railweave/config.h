// Every knob, parsed once. The table behind it (plugin/base/config_table.cc) gives name, type, unit, range, default and
// help; docs/operate/configuration.md is generated from it. Only Config::from_environment reads the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave {

// RAILWEAVE_EAGER_LIMIT goes no further: no engine sends a longer message before its receive is posted.
inline constexpr std::size_t kEagerLimitMaxBytes = 64 * KiB;

enum class DeviceModel { aggregate, rails };  // one device of all rails; one device per rail
enum class AddressFamily { any, v4, v6 };

struct PortRange {
  std::uint16_t first = 0, last = 0;  // 0,0: ephemeral ports
};

struct Config {
  std::string interfaces;  // NCCL_SOCKET_IFNAME: prefix list; '^' excludes, '=' exact. Empty: automatic
  AddressFamily family = AddressFamily::any;  // NCCL_SOCKET_FAMILY: AF_INET or AF_INET6
  // NCCL_NET_OPTIONAL_RECV_COMPLETION: NCCL says which receives it reads while they land
  bool optional_completion = true;
  std::vector<std::string> rails;  // RAILWEAVE_RAILS: exact interface names, in order; overrides `interfaces`
  DeviceModel devices = DeviceModel::aggregate;  // RAILWEAVE_DEVICES: aggregate | rails
  PortRange ports;                               // RAILWEAVE_PORTS: a-b
  int lanes_per_rail = 0;                        // RAILWEAVE_LANES_PER_RAIL: 0 = one per 25 Gb/s of rail speed; 1..16
  std::size_t eager_limit_bytes = 64 * KiB;      // RAILWEAVE_EAGER_LIMIT
  std::size_t zerocopy_threshold_bytes = 0;      // RAILWEAVE_ZEROCOPY_THRESHOLD: 0 = never
  std::string congestion_control;                // RAILWEAVE_TCP_CONGESTION: empty = the kernel's default
  std::string algorithms;                        // RAILWEAVE_ALGO: of collectives; empty = the cheapest
  std::string schedule = "off";  // RAILWEAVE_SCHEDULE: of collectives; off | auto | window:N | window:BYTES
  std::string trace;             // RAILWEAVE_TRACE: the Python package's, which reads it itself
  int traffic_class = -1;        // RAILWEAVE_TRAFFIC_CLASS: IP TOS/traffic-class octet, -1 = from NCCL, else 0
  Nanos connect_timeout = std::chrono::seconds(20);  // RAILWEAVE_CONNECT_TIMEOUT (seconds)
  Nanos peer_timeout = std::chrono::seconds(10);     // RAILWEAVE_PEER_TIMEOUT (seconds)
  Nanos stall_timeout = std::chrono::seconds(60);    // RAILWEAVE_STALL_TIMEOUT (seconds); 0: never
  std::optional<bool> shm;  // RAILWEAVE_SHM: peers on this host over shared memory, where both ends have it on.
                            // Not said: off, unless who starts the engine turns it on
  std::string key_file;     // RAILWEAVE_KEY_FILE: whose content a peer must have; empty: anyone may connect
  bool checksum = false;    // RAILWEAVE_CHECKSUM: what we send over a network carries CRCs of its payload
  bool encrypt = false;     // RAILWEAVE_ENCRYPT: every TCP lane by TLS; needs the key
  // RAILWEAVE_STATS_DIR: where the socket for `railweave-info --pid` lies; empty = none
  std::string stats_dir = "/tmp";

  // REQUIRES: `environment` maps names to values, as from_environment() takes them. Unknown RAILWEAVE_* names and
  // ill-formed values are errors (Code::invalid_config) that name the variable, what was found and what was expected.
  static Result<Config> parse(const std::map<std::string, std::string>& environment);

  // Snapshot of this process's RAILWEAVE_* variables and the NCCL_* ones above, then parse(). The only getenv of the
  // code base.
  static Result<Config> from_environment();

  // "NAME=value" of each variable that differs from its default, in table order, for the log.
  std::vector<std::string> overrides() const;
};

}  // namespace railweave
