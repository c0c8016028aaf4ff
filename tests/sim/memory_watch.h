// Whose memory is whose: receive buffers lent to a session and taken back. Sees every place that a session names for
// arriving bytes, and finds bytes that land twice, or in memory that was taken back.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace railweave::sim {

class MemoryWatch {
 public:
  static constexpr std::byte kPoison{0xa5};

  // [begin, begin+size) may be written from now on.
  void lend(std::span<const std::byte> buffer);
  // No more. The memory is poisoned and kept for a while; who writes to it is found by check().
  void take_back(std::vector<std::byte> buffer);

  // Bytes are going to land there; or they have. Empty, or what is wrong. Memory that is nobody's is the session's own.
  std::string landing(std::span<const std::byte> place) const;
  std::string landed(std::span<const std::byte> place);

  // Looks at all memory that was taken back. Empty, or what is wrong.
  std::string check();

 private:
  struct Range {
    const std::byte* end;
    bool lent;
    std::map<const std::byte*, const std::byte*> landed;
  };
  std::map<const std::byte*, Range>::const_iterator find(std::span<const std::byte> place) const;
  std::string check(const std::vector<std::byte>& buffer) const;

  std::map<const std::byte*, Range> ranges_;
  std::deque<std::vector<std::byte>> taken_back_;
  std::size_t taken_back_bytes_ = 0;
  std::string found_;
};

}  // namespace railweave::sim
