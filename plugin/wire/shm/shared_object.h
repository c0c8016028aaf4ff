// The memory that two ShmLanes share: a memfd that can neither shrink nor grow, mapped.
// Threads: as for a value. Life: the mapping lasts as long as this object, whatever the peer does.
#pragma once

#include <cstddef>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/shm/layout.h"

namespace railweave::wire::shm {

class SharedObject {
 public:
  SharedObject() = default;  // none
  // A new one, zeroed. Errors: exhausted (no memory or descriptors), system.
  static Result<SharedObject> make();
  // One that came from a peer. Errors: Code::remote when its size or its seals are not what they must be; system.
  static Result<SharedObject> adopt(OwnedFd fd);

  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  explicit operator bool() const { return base_ != nullptr; }
  int fd() const { return fd_.get(); }  // to be passed on; -1 once closed
  void close_fd() { fd_.reset(); }      // the mapping stays
  // 0: from who made it, 1: to it.
  Direction& direction(int index) const;
  // kRingBytes, and the same once more behind them.
  std::byte* ring(int index) const;

 private:
  explicit SharedObject(OwnedFd fd) : fd_(std::move(fd)) {}
  Status map();

  OwnedFd fd_;
  std::byte* base_ = nullptr;
};

}  // namespace railweave::wire::shm
