#include "wire/verbs/pin_limit.h"

#include <sys/resource.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace railweave::wire::verbs {
namespace {

// Returns the text of a file of /proc; empty: the file cannot be read.
std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_ipc_lock(std::string_view status) {
  constexpr std::string_view kField = "\nCapEff:\t";
  constexpr int kIpcLock = 14;  // CAP_IPC_LOCK, linux/capability.h
  const std::size_t at = status.find(kField);
  if (at == std::string_view::npos) return false;
  const std::string_view digits = status.substr(at + kField.size());
  std::uint64_t mask = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  return (mask >> kIpcLock & 1) != 0;
}

// The host's own namespace maps all users to themselves.
bool is_of_host(std::string_view uid_map) {
  std::istringstream fields{std::string(uid_map)};
  std::uint64_t inside = 0, outside = 0, count = 0;
  return fields >> inside >> outside >> count && inside == 0 && outside == 0 && count == 0xffffffff;
}

}  // namespace

bool may_pin_without_limit(std::string_view status, std::string_view uid_map) {
  return has_ipc_lock(status) && is_of_host(uid_map);
}

std::uint64_t pin_limit_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return PinnedBytes::kUnbounded;
  return may_pin_without_limit(text_of("/proc/self/status"), text_of("/proc/self/uid_map")) ? PinnedBytes::kUnbounded
                                                                                            : limit.rlim_cur;
}

}  // namespace railweave::wire::verbs
