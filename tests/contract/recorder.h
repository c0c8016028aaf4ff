// A LaneHandler in place of a session: its frames' headers name the frames, and it checks every frame, byte and call.
// It overwrites released memory at once and puts guard bytes around receive memory.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "wire/wire.h"

namespace railweave::wire::contract {

// Content of a test header; the rest of the header is a pattern computed from it.
struct FrameName {
  std::uint32_t sender = 0;
  std::uint32_t size = 0;  // bytes of the payload
  std::uint64_t seq = 0;

  friend bool operator==(const FrameName&, const FrameName&) = default;
};

std::array<std::byte, kHeaderBytes> encode(const FrameName& name);
FrameName decode(std::span<const std::byte, kHeaderBytes> header);
void fill(const FrameName& name, std::span<std::byte> payload);
// Returns the index of the first byte that differs from the frame's payload; payload.size() if there is none.
std::size_t first_wrong(const FrameName& name, std::span<const std::byte> payload);

class Recorder final : public LaneHandler {
 public:
  // `sender`: a number of this end, which makes its payloads differ from those of other ends.
  Recorder(Lane& lane, std::uint32_t sender) : lane_(lane), sender_(sender) {}

  // Queues the next frame to send. The payload is in memory of the recorder, or in the caller's, which is not
  // overwritten after release.
  FrameName queue(std::size_t size) { return queue_from({}, size); }
  FrameName queue_from(std::span<std::byte> memory) { return queue_from(memory, memory.size()); }
  // Calls Lane::write() once and returns the bytes moved. Does nothing after an error.
  std::size_t write();

  // Expects `frame` after those expected before.
  void expect(const FrameName& frame) { add({frame, {}, nullptr, true, false}); }
  void expect_at(const FrameName& frame, std::span<std::byte> memory) { add({frame, memory, nullptr, true, false}); }
  // The same for a frame whose target is withdrawn meanwhile: its payload is not checked.
  void expect_lost(const FrameName& frame, std::span<std::byte> memory) { add({frame, memory, nullptr, false, false}); }
  // The same for a frame whose payload the lane is to discard.
  void expect_discarded(const FrameName& frame) { add({frame, {}, nullptr, false, true}); }
  // Calls Lane::read() once and returns the bytes moved. Does nothing after an error.
  std::size_t read(std::size_t budget_bytes);

  bool nothing_expected() const { return incoming_.empty(); }
  bool inside_payload() const { return header_answered_; }
  std::string describe() const;

  Moved last_write, last_read;
  Status write_error, read_error;                                         // first errors
  std::size_t queued = 0, taken = 0, handed = 0, freed = 0, arrived = 0;  // in frames; handed: written, freed: released
  std::uint64_t taken_bytes = 0;                                          // headers included
  std::size_t frames_per_ask = 16;                                        // most frames that next_frames() returns
  Status answer_to_header, answer_to_consumed;  // when not ok: returned to the lane from now on

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
  std::deque<Outgoing> outgoing_;  // not yet released; the lane has taken the first `taken - freed`
  std::deque<Incoming> incoming_;  // expected
  bool header_answered_ = false;   // the header of incoming_.front() was answered
};

}  // namespace railweave::wire::contract
