#include "discovery/network_status.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

#include "base/config_setting.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json_cursor.h"

namespace railweave::discovery {
namespace {

constexpr std::size_t kNameBytesMax = 15;  // IFNAMSIZ less its zero
constexpr const char* kFileInEtc = "/podinfo/network-status";

struct Entry {
  std::string interface;
  bool is_default = false;
};

bool read_entry(JsonCursor& json, Entry& entry) {
  return json.object([&](const std::string& key) {
    if (key == "interface") return json.text(entry.interface);
    if (key == "default") return json.flag(entry.is_default);
    return json.skip();
  });
}

bool is_name(const std::string& text) {
  return text.size() <= kNameBytesMax && std::ranges::all_of(text, is_graphic_ascii) && text.find('/') == text.npos;
}

Status unfit(const std::string& file, const std::string& what) {
  return Status(Code::invalid_config, Scope::engine, fmt::format("network status {}: {}", file, what));
}

Result<std::string> contents(int fd, const std::string& file) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return unfit(file, std::string(system_error(Scope::engine, "fstat").message()));
  if (!S_ISREG(facts.st_mode)) return unfit(file, "found no regular file, expected one");
  std::string text(kNetworkStatusBytesMax + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t n = ::read(fd, text.data() + bytes, text.size() - bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unfit(file, std::string(system_error(Scope::engine, "read").message()));
    if (n == 0) break;
    bytes += static_cast<std::size_t>(n);
  }
  if (bytes == text.size()) {
    return unfit(file, fmt::format("found more than {} bytes, expected the annotation of one pod", bytes - 1));
  }
  text.resize(bytes);
  return text;
}

}  // namespace

Result<PodNetworks> parse_network_status(std::string_view text) {
  PodNetworks networks;
  if (text.find_first_not_of(" \t\r\n") == text.npos) {
    networks.awaited = true;
    return networks;
  }
  JsonCursor json(text);
  bool names_fit = true;
  const bool well = json.list([&] {
    Entry entry;
    if (!read_entry(json, entry)) return false;
    names_fit &= is_name(entry.interface);
    std::vector<std::string>& names = entry.is_default ? networks.cluster : networks.additional;
    if (!entry.interface.empty() && std::ranges::find(names, entry.interface) == names.end())
      names.push_back(std::move(entry.interface));
    return true;
  });
  if (!well || !json.finish()) return json.status();
  if (!names_fit) {
    return Status(Code::invalid_config, Scope::engine,
                  fmt::format("found an interface that has no name of Linux, expected at most {} visible characters "
                              "of ASCII without '/'",
                              kNameBytesMax));
  }
  return networks;
}

Result<PodNetworks> pod_networks(const Config& config, const HostView& host) {
  const bool named = !config.network_status_file.empty();
  const std::string file = named ? config.network_status_file : host.etc_root() + kFileInEtc;
  // O_NONBLOCK: opening a pipe without a writer would wait.
  const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd && !named && (errno == ENOENT || errno == ENOTDIR)) return PodNetworks();
  if (!fd) {
    return unfit(file, std::string(system_error(Scope::engine, "open").message()) +
                           "; expected the pod's annotation k8s.v1.cni.cncf.io/network-status as a file");
  }
  RW_ASSIGN_OR_RETURN(const std::string text, contents(fd.get(), file));
  Result<PodNetworks> networks = parse_network_status(text);
  if (!networks.ok()) return unfit(file, networks.status().message());
  networks->file = file;
  return networks;
}

}  // namespace railweave::discovery
