#include "collectives/rendezvous/host_proof.h"

#include <cerrno>
#include <map>

#include "base/abstract_socket.h"
#include "base/error.h"
#include "base/random.h"

namespace railweave::collectives {
namespace {

constexpr std::string_view kPrefix = "railweave-rank-";

}  // namespace

Result<HostProof> HostProof::offer() {
  std::string name = std::string(kPrefix) + hex(random_id());
  RW_ASSIGN_OR_RETURN(OwnedFd fd, listen_abstract(name));
  return HostProof(std::move(name), std::move(fd));
}

bool HostProof::open(const std::string& name) {
  if (!name.starts_with(kPrefix)) return false;
  const auto dialled = dial_abstract(name);
  // EAGAIN: the backlog is full, so the socket exists on this host.
  return dialled.ok() || dialled.status().system_errno() == EAGAIN;
}

std::vector<int> number_hosts(const std::vector<int>& lowest_of) {
  std::map<int, int> numbers;
  std::vector<int> hosts;
  for (const int lowest : lowest_of) hosts.push_back(numbers.try_emplace(lowest, int(numbers.size())).first->second);
  return hosts;
}

}  // namespace railweave::collectives
