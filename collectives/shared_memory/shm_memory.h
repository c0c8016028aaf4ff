// The memory of an exchange. One rank makes it and hands its descriptor to the others over a local socket.
// Threads: as for a value. Every call that waits is bounded by its timeout.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

// Mapped shared memory of fixed size, zero at first; the destructor unmaps it.
class ShmMemory {
 public:
  // Maps `fd`, which the caller keeps. Errors: exhausted, system.
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

// Memory that a rank hands out, and the socket on which the other ranks ask for it.
class ShmOffer {
 public:
  // Makes new memory, and a name under which processes of this network namespace may ask for it. Errors: exhausted,
  // system.
  static Result<ShmOffer> make(std::size_t bytes);
  const std::string& name() const { return name_; }
  int fd() const { return memory_.get(); }
  // Hands the descriptor to `takers` processes of our user; other users are rejected. Errors: timed_out, system.
  Status give(int takers, Nanos timeout);

 private:
  std::string name_;
  OwnedFd listener_, memory_;
};

// Asks for the memory offered under `name`. Errors: remote (giver of another user, or other memory), timed_out, system.
Result<ShmMemory> take_shm_memory(const std::string& name, std::size_t bytes, Nanos timeout);

}  // namespace railweave::collectives
