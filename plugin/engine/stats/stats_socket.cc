#include "engine/stats/stats_socket.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace railweave::engine {
namespace {

constexpr std::size_t kSocketsMax = 4096;
constexpr std::string_view kPrefix = "railweave-", kSuffix = ".sock";

}  // namespace

std::string stats_socket_path(const std::string& dir, int pid, std::string_view instance_hex) {
  return fmt::format("{}/{}{}-{}{}", dir, kPrefix, pid, instance_hex.substr(0, 8), kSuffix);
}

std::vector<std::string> stats_sockets(const std::string& dir) {
  std::vector<std::string> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(dir.c_str()), ::closedir);
  while (entries && paths.size() < kSocketsMax) {
    const dirent* const entry = ::readdir(entries.get());
    if (!entry) break;
    const std::string_view name = entry->d_name;
    const std::size_t least = kPrefix.size() + kSuffix.size();
    if (name.size() > least && name.substr(0, kPrefix.size()) == kPrefix &&
        name.substr(name.size() - kSuffix.size()) == kSuffix) {
      paths.push_back(fmt::format("{}/{}", dir, name));
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int pid_in_name(const std::string& path) {
  const std::size_t start = path.rfind('/') + 1 + kPrefix.size();  // npos + 1 is 0
  int pid = 0;
  if (start < path.size()) std::from_chars(path.data() + start, path.data() + path.size(), pid);
  return pid;
}

Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Status(Code::invalid_config, Scope::request,
                  fmt::format("{}: a socket's name has at most {} bytes; choose a shorter RAILWEAVE_STATS_DIR",
                              path.substr(0, 256), sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

}  // namespace railweave::engine
