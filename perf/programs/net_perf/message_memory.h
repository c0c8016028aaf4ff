// Memory for the messages of one flow, registered with the plugin as one region, as NCCL registers a connection's
// buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/pages.h"

namespace railweave::perf::net_perf {

class MessageMemory {
 public:
  virtual ~MessageMemory() = default;
  virtual std::span<std::byte> region() const = 0;
  // Returns the place of the next message, or null if there is no room now.
  virtual std::byte* take(std::size_t bytes) = 0;
  // Frees the oldest place in use.
  virtual void give_back() = 0;
};

// A ring that at most 64 messages rotate over, each contiguous and page-aligned (line-aligned if small). With messages
// of one size these are the slots of NCCL's buffers.
class RingMemory final : public MessageMemory {
 public:
  explicit RingMemory(Pages pages) : pages_(std::move(pages)) {}
  // Returns the bytes that `slots` messages of `bytes` need.
  static std::size_t bytes_for(std::size_t slots, std::size_t bytes);

  std::span<std::byte> region() const override { return pages_.span(); }
  std::byte* take(std::size_t bytes) override;
  void give_back() override { ++oldest_; }

 private:
  struct Place {
    std::size_t at, bytes;
  };
  static constexpr std::size_t kTakenMax = 64;
  Pages pages_;
  std::array<Place, kTakenMax> taken_{};  // [oldest_, newest_) modulo kTakenMax
  std::uint64_t oldest_ = 0, newest_ = 0;
  std::size_t next_ = 0;  // first byte behind the newest place
};

// A file: places follow one another, and each is used once.
class FlatMemory final : public MessageMemory {
 public:
  explicit FlatMemory(std::span<std::byte> region) : region_(region) {}  // borrowed
  std::span<std::byte> region() const override { return region_; }
  std::byte* take(std::size_t bytes) override {
    std::byte* place = region_.data() + at_;
    at_ += bytes;
    return place;
  }
  void give_back() override {}

 private:
  std::span<std::byte> region_;
  std::size_t at_ = 0;
};

}  // namespace railweave::perf::net_perf
