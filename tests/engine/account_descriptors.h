// Finds the descriptors of this process that belong to rails' accounts (plugin/engine/credit/shared_account.h). Their
// number depends on the user's other processes, so tests leave them out of counts of descriptors and sockets.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace railweave {

// `entry`: a name in /proc/self/fd, the number of the descriptor. Returns true for every pipe, too.
inline bool is_of_an_account(const char* entry) {
  std::array<char, 64> target{};
  (void)!::readlink((std::string("/proc/self/fd/") + entry).c_str(), target.data(), target.size() - 1);
  const std::string_view link(target.data());
  if (link.starts_with("pipe:") || link.starts_with("/memfd:railweave-account")) return true;
  // A socket of the serving process is bound to the account's name; a socket of an asking process has it as its peer.
  for (const auto name_of : {::getsockname, ::getpeername}) {
    sockaddr_un at{};
    socklen_t size = sizeof at;
    if (name_of(std::atoi(entry), reinterpret_cast<sockaddr*>(&at), &size) != 0 || at.sun_family != AF_UNIX) continue;
    if (std::string_view(at.sun_path + 1).starts_with("railweave-account")) return true;
  }
  return false;
}

}  // namespace railweave
