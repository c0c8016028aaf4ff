// Two channels of blocks that are connected in memory, for tests of message lanes: a device without hardware.
//
// A block that is sent is under way for `delay` steps of time, then lands in a free receive slot of the peer. A block
// that finds none is a failure of the test: a lane must never send more than the peer has slots for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "wire/message/channel.h"

namespace railweave::wire::message {

struct FakeChannelOptions {
  ChannelShape shape{4 * KiB, 16};
  std::uint32_t send_slots = 8;
  std::uint64_t delay = 0;                        // steps of time until a block lands
  bool shuffles = false;                          // blocks arrive in any order, and `left` comes late
  std::uint32_t not_now = 0;                      // one call of send() and give_back() in so many is refused; 0: none
  std::uint64_t blocks_most = ~std::uint64_t{0};  // the channel fails at the block of this number
  bool may_lose = false;                          // Channel::may_lose_blocks()
};

class FakeDevice {
 public:
  explicit FakeDevice(const FakeChannelOptions& its_options) : options(its_options) {}

  void step() { ++time; }

  struct Block {
    std::vector<std::byte> bytes;
    std::uint64_t lands_at = 0;
  };
  struct End {
    std::deque<Block> under_way;                 // to this end
    std::vector<std::vector<std::byte>> slots;   // receive slots
    std::vector<std::uint32_t> free;             // of these, for the device
    std::vector<Arrival> landed;                 // not polled yet
    std::uint64_t sent = 0, landed_at_peer = 0;  // blocks of this end
    bool is_there = true;
    int to_lose = 0;      // so many of the next blocks of this end get lost, unless sent surely
    int blind_polls = 0;  // so many of the next polls of this end find nothing
  };

  // Lands what is due at either end.
  void land() {
    for (int i = 0; i < 2; ++i) {
      End& to = ends[i];
      for (; !to.under_way.empty() && to.under_way.front().lands_at <= time; to.under_way.pop_front()) {
        ++ends[1 - i].landed_at_peer;
        if (!to.is_there) continue;
        if (to.free.empty()) {
          ADD_FAILURE() << "a block was sent, and the peer has no slot for it";
          continue;
        }
        const auto place = options.shuffles ? random() % to.free.size() : 0;
        const std::uint32_t slot = to.free[place];
        to.free.erase(to.free.begin() + std::ptrdiff_t(place));
        const auto& bytes = to.under_way.front().bytes;
        std::ranges::copy(bytes, to.slots[slot].begin());
        to.landed.push_back({slot, std::uint32_t(bytes.size())});
      }
      if (options.shuffles) std::ranges::shuffle(to.landed, random);
    }
  }
  bool refuses() { return options.not_now > 0 && random() % options.not_now == 0; }

  const FakeChannelOptions options;
  std::mt19937 random{7};
  std::uint64_t time = 0;
  End ends[2];
};

class FakeChannel final : public Channel {
 public:
  FakeChannel(std::shared_ptr<FakeDevice> device, int end)
      : device_(std::move(device)), mine_(device_->ends[end]), peers_(device_->ends[1 - end]) {
    const FakeChannelOptions& o = device_->options;
    send_slots_.assign(o.send_slots, std::vector<std::byte>(o.shape.slot_bytes));
    mine_.slots.assign(o.shape.receive_slots, std::vector<std::byte>(o.shape.slot_bytes));
    for (std::uint32_t i = 0; i < o.shape.receive_slots; ++i) mine_.free.push_back(i);
  }
  ~FakeChannel() override { mine_.is_there = false; }

  ChannelShape shape() const override { return device_->options.shape; }
  std::vector<std::byte> address() const override { return {std::byte{'f'}}; }
  Status connect(std::span<const std::byte> peer) override {
    if (peer.size() == 1 && peer[0] == std::byte{'f'}) return {};
    return Status(Code::remote, Scope::lane, "no address of a fake channel");
  }
  Result<bool> is_connected() override { return ++asked_ > 2; }

  std::span<std::byte> next_slot() override {
    if (mine_.sent - left_ == send_slots_.size()) return {};
    return send_slots_[mine_.sent % send_slots_.size()];
  }
  bool may_lose_blocks() const override { return device_->options.may_lose; }
  Result<bool> send_surely(std::size_t bytes) override {
    const int to_lose = std::exchange(mine_.to_lose, 0);
    auto sent = send(bytes);
    mine_.to_lose = to_lose;
    return sent;
  }
  Result<bool> send(std::size_t bytes) override {
    assert(!next_slot().empty());
    if (mine_.sent >= device_->options.blocks_most) return broken();
    if (device_->refuses()) return false;
    const auto block = next_slot().first(bytes);
    if (mine_.to_lose > 0) {
      --mine_.to_lose;
      ++mine_.landed_at_peer;
    } else if (peers_.is_there)
      peers_.under_way.push_back({{block.begin(), block.end()}, device_->time + device_->options.delay});
    ++mine_.sent;
    if (device_->options.delay == 0) device_->land();
    return true;
  }
  std::uint64_t left() const override { return left_; }

  Result<std::size_t> poll(std::span<Arrival> arrivals) override {
    if (mine_.blind_polls > 0) {
      --mine_.blind_polls;
      return std::size_t{0};
    }
    device_->land();
    if (failed_) return broken();
    // Where the device shuffles, news of some blocks that left comes later.
    const std::uint64_t late = device_->options.shuffles ? device_->random() % 2 : 0;
    left_ = std::max(left_, mine_.landed_at_peer - std::min(late, mine_.landed_at_peer));
    const std::size_t n = std::min(arrivals.size(), mine_.landed.size());
    std::copy_n(mine_.landed.begin(), n, arrivals.begin());
    mine_.landed.erase(mine_.landed.begin(), mine_.landed.begin() + std::ptrdiff_t(n));
    return n;
  }
  std::span<const std::byte> slot(std::uint32_t index) const override { return mine_.slots[index]; }
  Result<bool> give_back(std::uint32_t index) override {
    if (failed_) return broken();
    if (device_->refuses()) return false;
    // A lane that still reads the slot reads nonsense.
    std::ranges::fill(mine_.slots[index], std::byte{0xee});
    mine_.free.push_back(index);
    return true;
  }
  LaneEnd why_failed() const override { return LaneEnd::unanswered; }
  int descriptor() const override { return -1; }
  bool prepare_to_wait() override { return mine_.landed.empty() && left_ == mine_.landed_at_peer; }

 private:
  Status broken() {
    failed_ = true;
    return Status(Code::remote, Scope::lane, "the fake device broke");
  }

  const std::shared_ptr<FakeDevice> device_;
  FakeDevice::End &mine_, &peers_;
  std::vector<std::vector<std::byte>> send_slots_;
  std::uint64_t left_ = 0;
  int asked_ = 0;
  bool failed_ = false;
};

}  // namespace railweave::wire::message
