#include "collectives/host_proof.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/random.h"

namespace railweave::collectives {
namespace {

constexpr std::string_view kPrefix = "railweave-rank-";

// An abstract name begins with a zero and goes with the last descriptor.
socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

}  // namespace

Result<HostProof> HostProof::offer() {
  std::string name(kPrefix);
  for (const auto byte : random_id()) name += fmt::format("{:02x}", byte);
  OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(Scope::engine, "socket(AF_UNIX)");
  sockaddr_un address;
  const socklen_t size = abstract_address(name, address);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return system_error(Scope::engine, "bind to " + name);
  return HostProof(std::move(name), std::move(fd));
}

bool HostProof::open(const std::string& name) {
  sockaddr_un address;
  if (!name.starts_with(kPrefix) || name.size() >= sizeof address.sun_path) return false;
  const OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const socklen_t size = abstract_address(name, address);
  if (!fd) return false;
  // A full backlog is of this host, too.
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 || errno == EAGAIN;
}

std::vector<int> number_hosts(const std::vector<int>& lowest_of) {
  std::map<int, int> numbers;
  std::vector<int> hosts;
  for (const int lowest : lowest_of) hosts.push_back(numbers.try_emplace(lowest, int(numbers.size())).first->second);
  return hosts;
}

}  // namespace railweave::collectives
