// Which ranks share a host, proved by an object that both can open: an abstract Unix socket of this network namespace.
// Names, pids and addresses are the same in different containers and prove nothing.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::collectives {

class HostProof {
 public:
  // Errors: system.
  static Result<HostProof> offer();
  // What a rank of the same host can open(), as long as this lives.
  const std::string& name() const { return name_; }
  // Whether `name`, which another rank offers, is of this host.
  static bool open(const std::string& name);

 private:
  HostProof(std::string name, OwnedFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}
  std::string name_;
  OwnedFd fd_;
};

// Hosts numbered from 0 in order of first appearance, from the lowest rank each rank shares its host with.
std::vector<int> number_hosts(const std::vector<int>& lowest_of);

}  // namespace railweave::collectives
