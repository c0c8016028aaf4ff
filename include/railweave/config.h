// The settings of a process, parsed once from its environment variables. The fields are those of the engine and the
// NCCL plugin (plugin/base/engine_settings.cc has name, type, unit, range, default and help); other libraries add
// sections of their own. docs/operate/configuration.md is generated from all sections. Only Config::from_environment
// reads the environment.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave {

// Upper bound of RAILWEAVE_EAGER_LIMIT, bytes: no engine sends a longer message before its receive is posted.
inline constexpr std::size_t kEagerLimitMaxBytes = 64 * KiB;

enum class DeviceModel { aggregate, rails };  // one device of all rails; one device per rail
enum class AddressFamily { any, v4, v6 };

struct PortRange {
  std::uint16_t first = 0, last = 0;  // both included; 0,0: ephemeral ports
};

struct Config {
  std::string interfaces;  // NCCL_SOCKET_IFNAME: prefix list; '^' excludes, '=' exact. Empty: automatic
  AddressFamily family = AddressFamily::any;  // NCCL_SOCKET_FAMILY: AF_INET or AF_INET6
  // NCCL_NET_OPTIONAL_RECV_COMPLETION; true: NCCL marks the receives that it reads while they land
  bool optional_completion = true;
  std::vector<std::string> rails;  // RAILWEAVE_RAILS: exact interface names, in order; overrides `interfaces`
  // RAILWEAVE_NETWORK_STATUS_FILE: networks of a pod; empty: /etc/podinfo/network-status, if it exists
  std::string network_status_file;
  // RAILWEAVE_WIRES: wires between hosts, the preferred one first; never empty
  std::vector<std::string> wires = {"tcp"};
  std::string
      ofi_library;  // RAILWEAVE_OFI_LIBRARY: path of libfabric; empty: libfabric.so.1, where the loader finds it
  DeviceModel devices = DeviceModel::aggregate;  // RAILWEAVE_DEVICES: aggregate | rails
  PortRange ports;                               // RAILWEAVE_PORTS: a-b
  int lanes_per_rail = 0;                    // RAILWEAVE_LANES_PER_RAIL: 0 = one per 25 Gb/s of the slower rail; 1..16
  std::size_t eager_limit_bytes = 64 * KiB;  // RAILWEAVE_EAGER_LIMIT
  std::size_t zerocopy_threshold_bytes = 0;  // RAILWEAVE_ZEROCOPY_THRESHOLD: 0 = never
  std::string congestion_control;            // RAILWEAVE_TCP_CONGESTION: empty = the kernel's default
  int traffic_class = -1;  // RAILWEAVE_TRAFFIC_CLASS: IP TOS/traffic-class octet; -1 = NCCL's value, else 0
  Nanos connect_timeout = std::chrono::seconds(20);  // RAILWEAVE_CONNECT_TIMEOUT (seconds)
  Nanos peer_timeout = std::chrono::seconds(10);     // RAILWEAVE_PEER_TIMEOUT (seconds)
  Nanos stall_timeout = std::chrono::seconds(60);    // RAILWEAVE_STALL_TIMEOUT (seconds); 0: never
  std::optional<bool> shm;  // RAILWEAVE_SHM: shared memory to peers on this host, where both ends have the setting on.
                            // Unset: off, unless the program that starts the engine turns the setting on
  std::string key_file;     // RAILWEAVE_KEY_FILE: file of the key that a peer must have; empty: anyone may connect
  bool checksum = false;    // RAILWEAVE_CHECKSUM: payload that this process sends over a network carries CRCs
  bool encrypt = false;     // RAILWEAVE_ENCRYPT: TLS on every TCP lane; needs `key_file`
  // RAILWEAVE_STATS_DIR: folder of the socket for `railweave info --pid`; empty = no socket
  std::string stats_dir = "/tmp";

  // Returns the settings of a library other than the engine. `Values` is the struct of the library's section
  // (plugin/base/config_section.h). A const Config without these values returns the defaults.
  template <typename Values>
  const Values& of() const {
    static const Values defaults{};
    const auto found = sections_.find(&kKeyOf<Values>);
    return found == sections_.end() ? defaults : *std::any_cast<Values>(&found->second);
  }
  template <typename Values>
  Values& of() {
    return *std::any_cast<Values>(&sections_.try_emplace(&kKeyOf<Values>, Values{}).first->second);
  }

  // REQUIRES: `environment` maps names to values, as from_environment() collects them. Errors: Code::invalid_config for
  // unknown RAILWEAVE_* names and ill-formed values; the message has each variable, its value and the expected form.
  // A few variables of other libraries (plugin/base/config_section.h, variables_of_other_libraries()) are ignored if no
  // library of this process registered them.
  static Result<Config> parse(const std::map<std::string, std::string>& environment);

  // Parses a snapshot of this process's RAILWEAVE_* variables and the NCCL_* variables above. No other function of the
  // libraries reads the environment.
  static Result<Config> from_environment();

  // Returns "NAME=value" of each variable that differs from its default, section by section, for the log.
  std::vector<std::string> overrides() const;

 private:
  template <typename Values>
  static constexpr char kKeyOf = 0;  // the address identifies the type `Values`

  std::map<const char*, std::any> sections_;  // values of a section, by the key of their type
};

}  // namespace railweave
