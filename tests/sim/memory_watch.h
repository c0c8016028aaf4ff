// MemoryWatch records which receive buffers are lent to a session and which were taken back. Checks every place that a
// session names for arriving bytes: no byte may land twice, or in memory that was taken back.
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

  // The session may write to the buffer from now on.
  void lend(std::span<const std::byte> buffer);
  // The session may not write to the buffer any more. Poisons the memory and keeps it for a while; check() finds later
  // writes.
  void take_back(std::vector<std::byte> buffer);

  // Bytes are about to land at `place`, or have landed. Return what is wrong; empty: nothing. Memory outside of all
  // buffers is the session's own.
  std::string landing(std::span<const std::byte> place) const;
  std::string landed(std::span<const std::byte> place);

  // Checks all memory that was taken back. Returns what is wrong; empty: nothing.
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
