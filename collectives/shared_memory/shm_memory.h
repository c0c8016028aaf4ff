// The memory of an exchange: made by one rank, handed to the others as a descriptor over a local socket.
// Threads: as for a value. Every call that waits is bounded by its timeout.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

// Mapped shared memory of fixed size, zero at first.
class ShmMemory {
 public:
  // Errors: exhausted, system.
  static Result<ShmMemory> map(int fd, std::size_t bytes);
  ShmMemory(ShmMemory&& other) noexcept;
  ShmMemory& operator=(ShmMemory&& other) noexcept;
  ~ShmMemory();

  std::byte* data() const { return data_; }

 private:
  ShmMemory(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class ShmOffer {
 public:
  // New memory, and a name under which processes of this network namespace may ask for it. Errors: exhausted, system.
  static Result<ShmOffer> make(std::size_t bytes);
  const std::string& name() const { return name_; }
  int fd() const { return memory_.get(); }
  // Hands it to so many processes, of our user; others are rejected. Errors: timed_out, system.
  Status give(int takers, Nanos timeout);

 private:
  std::string name_;
  OwnedFd listener_, memory_;
};

// Asks for what is offered under `name`. Errors: remote (not of our user, or not such memory), timed_out, system.
Result<ShmMemory> take_shm_memory(const std::string& name, std::size_t bytes, Nanos timeout);

}  // namespace railweave::collectives
