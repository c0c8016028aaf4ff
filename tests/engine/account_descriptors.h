// Descriptors of this process that belong to rails' accounts (plugin/engine/credit/shared_account.h). How many there are depends on this user's other
// processes: whoever looks for leaks leaves them out.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace railweave {

// `entry`: of /proc/self/fd.
inline bool is_of_an_account(const char* entry) {
  std::array<char, 64> target{};
  (void)!::readlink((std::string("/proc/self/fd/") + entry).c_str(), target.data(), target.size() - 1);
  const std::string_view link(target.data());
  if (link.starts_with("pipe:") || link.starts_with("/memfd:railweave-account")) return true;
  sockaddr_un at{};
  socklen_t size = sizeof at;
  if (::getsockname(std::atoi(entry), reinterpret_cast<sockaddr*>(&at), &size) != 0 || at.sun_family != AF_UNIX) return false;
  return std::string_view(at.sun_path + 1).starts_with("railweave-account");
}

}  // namespace railweave
