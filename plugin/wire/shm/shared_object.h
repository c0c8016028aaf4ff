// SharedObject maps the memory that two ShmLanes share: a memfd that can neither shrink nor grow.
// Threads: as for a value. Lifetime: the mapping lasts as long as this object, whatever the peer does.
#pragma once

#include <cstddef>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/shm/layout.h"

namespace railweave::wire::shm {

class SharedObject {
 public:
  SharedObject() = default;  // holds no memory
  // Creates an object, zeroed. Errors: exhausted (no memory or descriptors), system.
  static Result<SharedObject> make();
  // Maps an object that came from a peer. Errors: Code::remote if its size or seals are wrong; exhausted, system.
  static Result<SharedObject> adopt(OwnedFd fd);

  SharedObject(SharedObject&& other) noexcept;
  SharedObject& operator=(SharedObject&& other) noexcept;
  ~SharedObject();

  explicit operator bool() const { return base_ != nullptr; }
  int fd() const { return fd_.get(); }  // to pass to the peer; -1 once closed
  void close_fd() { fd_.reset(); }      // closes the descriptor; the mapping stays
  // `index`: 0: written by the maker of the object, 1: written by its peer.
  Direction& direction(int index) const;
  // The ring of direction `index`, kRingBytes mapped twice in a row.
  std::byte* ring(int index) const;

 private:
  explicit SharedObject(OwnedFd fd) : fd_(std::move(fd)) {}
  Status map();

  OwnedFd fd_;
  std::byte* base_ = nullptr;
};

}  // namespace railweave::wire::shm
