// Fuzzes the blocks that a message lane reads: a channel delivers the fuzzer's bytes in the place of the peer's. Also
// fuzzes decode_offer().
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"
#include "wire/message/block_rings.h"
#include "wire/message/offer.h"
#include "wire/message/stream_reader.h"

using railweave::fuzz::check;
using railweave::fuzz::Input;
using namespace railweave;
using namespace railweave::wire;
using namespace railweave::wire::message;

namespace {

constexpr ChannelShape kShape{1 * KiB, 8};

// Delivers one block each poll(), in a free slot; without a free slot it delivers none.
class FuzzedChannel final : public Channel {
 public:
  explicit FuzzedChannel(Input& input) : input_(input) {
    for (std::uint32_t i = 0; i < kShape.receive_slots; ++i) free_.push_back(i);
  }
  ChannelShape shape() const override { return kShape; }
  std::vector<std::byte> address() const override { return {}; }
  Status connect(std::span<const std::byte>) override { return {}; }
  Result<bool> is_connected() override { return true; }
  std::span<std::byte> next_slot() override { return sending_; }
  Result<bool> send(std::size_t bytes) override {
    check(bytes >= kPrefixBytes && bytes <= kShape.slot_bytes, "a block fits into a slot");
    ++sent_;
    return true;
  }
  std::uint64_t left() const override { return sent_; }
  Result<std::size_t> poll(std::span<Arrival> arrivals) override {
    if (input_.empty() || free_.empty()) return std::size_t{0};
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    arrivals[0] = {slot, fill(slot)};
    return std::size_t{1};
  }
  std::span<const std::byte> slot(std::uint32_t index) const override { return slots_[index]; }
  Result<bool> give_back(std::uint32_t index) override {
    check(std::ranges::find(free_, index) == free_.end(), "a slot is given back once");
    free_.push_back(index);
    return true;
  }
  LaneEnd why_failed() const override { return LaneEnd::closed; }
  int descriptor() const override { return -1; }
  bool prepare_to_wait() override { return true; }

 private:
  // Most blocks have the right number and length, so that the fuzzer gets far. Returns the block's length.
  std::uint32_t fill(std::uint32_t slot) {
    const std::uint8_t how = input_.u8();
    const auto behind = std::uint32_t(input_.number() % (kShape.slot_bytes - kPrefixBytes + 1));
    Prefix prefix;
    prefix.number = how & 1 ? std::uint32_t(input_.u64()) : number_++;
    prefix.returned = how & 2 ? std::uint32_t(input_.u64()) : 0;
    prefix.bytes = how & 4 ? std::uint32_t(input_.u64()) : behind;
    prefix.probe = (how & 8) != 0;
    prefix.last = (how & 16) != 0;
    prefix.asks = (how & 128) != 0;
    encode(prefix, std::span(slots_[slot]).first<kPrefixBytes>());
    for (std::uint32_t i = 0; i < behind; ++i) slots_[slot][kPrefixBytes + i] = std::byte(input_.u8());
    if (how & 32) slots_[slot][12] = std::byte(input_.u8());
    return how & 64 ? std::uint32_t(input_.below(kShape.slot_bytes)) : std::uint32_t(kPrefixBytes) + behind;
  }

  Input& input_;
  std::array<std::array<std::byte, kShape.slot_bytes>, kShape.receive_slots> slots_{};
  std::array<std::byte, kShape.slot_bytes> sending_{};
  std::vector<std::uint32_t> free_;
  std::uint64_t sent_ = 0;
  std::uint32_t number_ = 0;
};

// Takes frames whose payload is as long as the header's first two bytes say. Each payload gets memory of just its size,
// so the address sanitizer sees a byte too many.
class Handler final : public LaneHandler {
 public:
  std::size_t next_frames(std::span<OutFrame>) override { return 0; }
  void written(std::size_t) override {}
  void released(std::size_t) override {}
  Result<Target> header(std::span<const std::byte, kHeaderBytes> header) override {
    check(!is_inside_, "one frame at a time");
    is_inside_ = true;
    std::uint16_t bytes;
    std::memcpy(&bytes, header.data(), sizeof bytes);
    place_ = std::make_unique<std::byte[]>(bytes);
    if (header[2] == std::byte{1}) return Status(Code::remote, Scope::lane, "refused");
    const bool discards = header[2] == std::byte{2} && bytes > 0;
    return Target{{discards ? nullptr : place_.get(), bytes}, header[2] == std::byte{3}};
  }
  Status consumed(std::span<const std::byte, kHeaderBytes>) override {
    check(is_inside_, "a frame ends after its header");
    is_inside_ = false;
    return {};
  }

 private:
  bool is_inside_ = false;
  std::unique_ptr<std::byte[]> place_;
};

void fuzz_offer(Input& input) {
  std::vector<std::byte> bytes(input.number() % 200);
  for (std::byte& byte : bytes) byte = std::byte(input.u8());
  Result<ChannelOffer> offer = decode_offer(bytes);
  if (!offer.ok()) return check(offer.status().code() == Code::remote, "a bad offer is the peer's error");
  check(offer->shape.receive_slots >= RingCredit::kSlotsLeast, "the ring is large enough");
  check(encode(*offer) == bytes, "what was read is what was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Input input(data, size);
  if (input.u8() & 1) {
    fuzz_offer(input);
    return 0;
  }
  BlockRings rings(std::make_unique<FuzzedChannel>(input), kShape);
  LaneCounters counters;
  StreamReader reader(counters);
  Handler handler;
  std::size_t at = 0;  // bytes taken of the next block
  for (int polls = 0; polls < 300; ++polls) {
    if (!rings.poll().ok() || !rings.state_credit(true).ok()) break;
    for (auto block = rings.next(); block; block = rings.next()) {
      Result<std::size_t> taken = reader.take(handler, block->stream.subspan(at), 1 + input.u8());
      if (!taken.ok()) return 0;
      at += *taken;
      if (at < block->stream.size()) continue;
      at = 0;
      rings.pop();
    }
  }
  return 0;
}
