// The session's stand-in: sends frames that say what they are, and checks every frame, byte and promise it sees.
// It is hostile within the contract: memory that was released is overwritten at once, receive memory has guard bytes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace railweave::wire::contract {

// What a test header carries; the rest of the header is filled with a pattern of these.
struct FrameName {
  std::uint32_t sender = 0;
  std::uint32_t size = 0;  // of the payload, bytes
  std::uint64_t seq = 0;

  friend bool operator==(const FrameName&, const FrameName&) = default;
};

std::array<std::byte, kHeaderBytes> encode(const FrameName& name);
FrameName decode(std::span<const std::byte, kHeaderBytes> header);
void fill(const FrameName& name, std::span<std::byte> payload);
// Index of the first byte that is not the frame's; payload.size() if there is none.
std::size_t first_wrong(const FrameName& name, std::span<const std::byte> payload);

class Recorder final : public LaneHandler {
 public:
  // `sender` makes this end's bytes unlike any other's.
  Recorder(Lane& lane, std::uint32_t sender) : lane_(lane), sender_(sender) {}

  // Sending. The payload lies in memory of the recorder, or in the caller's, which is left alone after release.
  FrameName queue(std::size_t size) { return queue_from({}, size); }
  FrameName queue_from(std::span<std::byte> memory) { return queue_from(memory, memory.size()); }
  // Lane::write once; returns the bytes moved. Does nothing after an error.
  std::size_t write();

  // Receiving. The next frame to come is this one.
  void expect(const FrameName& frame) { add({frame, {}, nullptr, true, false}); }
  void expect_at(const FrameName& frame, std::span<std::byte> memory) { add({frame, memory, nullptr, true, false}); }
  // Its payload is withdrawn on the way: nobody looks at it.
  void expect_lost(const FrameName& frame, std::span<std::byte> memory) { add({frame, memory, nullptr, false, false}); }
  // The answer to its header is: throw away.
  void expect_discarded(const FrameName& frame) { add({frame, {}, nullptr, false, true}); }
  // Lane::read once; returns the bytes moved. Does nothing after an error.
  std::size_t read(std::size_t budget_bytes);

  bool nothing_expected() const { return incoming_.empty(); }
  bool inside_payload() const { return header_answered_; }
  std::string describe() const;

  Moved last_write, last_read;
  Status write_error, read_error;                                         // first ones
  std::size_t queued = 0, taken = 0, handed = 0, freed = 0, arrived = 0;  // frames; handed = written, freed = released
  std::uint64_t taken_bytes = 0;                                          // headers included
  std::size_t frames_per_ask = 16;                                        // given at most, when asked
  Status answer_to_header, answer_to_consumed;  // when not ok: what the lane is told from now on

  // LaneHandler
  std::size_t next_frames(std::span<OutFrame> frames) override;
  void written(std::size_t n) override;
  void released(std::size_t n) override;
  Result<Target> header(std::span<const std::byte, kHeaderBytes> header) override;
  Status consumed(std::span<const std::byte, kHeaderBytes> header) override;

 private:
  struct Outgoing {
    FrameName name;
    std::span<std::byte> memory;
    std::unique_ptr<std::byte[]> owned;
  };
  struct Incoming {
    FrameName name;
    std::span<std::byte> memory;
    std::unique_ptr<std::byte[]> owned;  // memory and guards
    bool checked, discarded;
  };

  FrameName queue_from(std::span<std::byte> memory, std::size_t size);
  void add(Incoming incoming);
  void check_guards(const Incoming& incoming) const;

  Lane& lane_;
  const std::uint32_t sender_;
  std::uint64_t next_seq_ = 0;
  std::deque<Outgoing> outgoing_;  // not yet released; the first taken - freed of them are with the lane
  std::deque<Incoming> incoming_;  // to come
  bool header_answered_ = false;   // of incoming_.front()
};

}  // namespace railweave::wire::contract
