#include "common/free_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>

namespace railweave::perf {
namespace {

// Files of a control group from which the rest below its limit is computed. File cache that the kernel would drop
// counts as free.
struct GroupFiles {
  const char* limit;
  const char* usage;
};
constexpr GroupFiles kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes"},
    kVersion2{"/memory.max", "/memory.current"};

std::optional<std::size_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  file >> text;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;  // "max"
  return value;
}

// Returns the number behind `key` in a file of lines "key value".
std::optional<std::size_t> number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  std::size_t value = 0;
  for (std::string line; std::getline(file, line);)
    if (std::istringstream words(line); words >> word >> value && word == key) return value;
  return std::nullopt;
}

std::size_t left_in_group(const std::string& folder, const GroupFiles& files) {
  const auto limit = number_in(folder + files.limit), usage = number_in(folder + files.usage);
  if (!limit || !usage) return SIZE_MAX;
  const std::size_t used =
      *usage - std::min(*usage, number_after(folder + "/memory.stat", "inactive_file").value_or(0));
  return *limit - std::min(*limit, used);
}

// Returns the least rest of the group at `path` and of all groups above, up to the mounted root. In a container some
// folders of `path` may be invisible.
std::size_t left_in_groups(const std::string& mount, std::string path, const GroupFiles& files) {
  std::size_t left = left_in_group(mount, files);
  for (; path.size() > 1; path.resize(path.rfind('/'))) left = std::min(left, left_in_group(mount + path, files));
  return left;
}

// Parses lines of /proc/self/cgroup: "4:memory:/user" of version 1, "0::/user" of version 2.
std::size_t left_in_own_groups(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::size_t left = SIZE_MAX;
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || line.size() <= second + 1 || line[second + 1] != '/') continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      path = line.substr(second + 1);
    if (controllers == ",,") left = std::min(left, left_in_groups(root + "/sys/fs/cgroup", path, kVersion2));
    if (controllers.find(",memory,") != std::string::npos)
      left = std::min(left, left_in_groups(root + "/sys/fs/cgroup/memory", path, kVersion1));
  }
  return left;
}

std::size_t left_of_address_space(const std::string& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const std::size_t used = number_after(root + "/proc/self/status", "VmSize:").value_or(0) * 1024;
  return limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, used);
}

}  // namespace

std::size_t free_memory_bytes(const std::string& root) {
  const auto machine_kib = number_after(root + "/proc/meminfo", "MemAvailable:");
  const std::size_t machine = machine_kib ? *machine_kib * 1024 : SIZE_MAX;
  return std::min({machine, left_in_own_groups(root), left_of_address_space(root)});
}

}  // namespace railweave::perf
