// Descriptors of this process that belong to rails' accounts (plugin/engine/credit/shared_account.h). How many there
// are depends on this user's other processes, so counts of descriptors or sockets leave these out.
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
  // The serving process's sockets have the account's name at their own end, the asking process's at the other.
  for (const auto name_of : {::getsockname, ::getpeername}) {
    sockaddr_un at{};
    socklen_t size = sizeof at;
    if (name_of(std::atoi(entry), reinterpret_cast<sockaddr*>(&at), &size) != 0 || at.sun_family != AF_UNIX) continue;
    if (std::string_view(at.sun_path + 1).starts_with("railweave-account")) return true;
  }
  return false;
}

}  // namespace railweave
