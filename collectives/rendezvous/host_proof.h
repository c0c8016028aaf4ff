// Proof that two ranks share a host: an object both can open, an abstract Unix socket of this network namespace.
// Host names, pids and addresses can be equal in different containers and prove nothing.
// Lifetime: the proof can be opened while the HostProof exists.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::collectives {

class HostProof {
 public:
  // Listens at a socket with a new random name. Errors: system.
  static Result<HostProof> offer();
  // Socket name that a rank of the same host can open() while this object exists.
  const std::string& name() const { return name_; }
  // Returns whether `name`, offered by another rank, can be opened on this host.
  static bool open(const std::string& name);

 private:
  HostProof(std::string name, OwnedFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}
  std::string name_;
  OwnedFd fd_;
};

// Returns each rank's host number. Hosts are numbered from 0 in order of first appearance.
// `lowest_of`: for each rank, the lowest rank on the same host.
std::vector<int> number_hosts(const std::vector<int>& lowest_of);

}  // namespace railweave::collectives
