// Memory for messages: whole pages, populated when allocated, so that no page fault is measured.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "railweave/status.h"

namespace railweave::perf {

class Pages {
 public:
  static Result<Pages> allocate(std::size_t bytes);  // at least one page
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Pages& operator=(Pages&&) = delete;
  ~Pages();
  std::span<std::byte> span() const { return {data_, bytes_}; }

 private:
  Pages(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::byte* data_;
  std::size_t bytes_;
};

// Returns the bytes to reserve for one of several messages. The next message then begins at a page too, or at a cache
// line if it is smaller than a page.
std::size_t slot_bytes(std::size_t message_bytes);

}  // namespace railweave::perf
