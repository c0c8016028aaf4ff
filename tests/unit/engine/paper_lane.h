// A fake lane: the test writes the frames that arrive, and reads the frames that were sent.
#pragma once

#include <algorithm>
#include <cerrno>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "protocol/frame_fields.h"
#include "wire/wire.h"

namespace railweave::engine {

using protocol::FrameHeader;
using protocol::FrameType;

// The state of a fake lane, written and read by the test. Outlives the lane.
struct Paper {
  std::deque<FrameHeader> arriving;  // frames that read() delivers; payloads are zeroes
  Status ending;                     // error of read() once nothing arrives any more; ok: none
  bool stuck = false;                // write() blocks: the kernel takes no more
  bool lacks_memory = false;         // read() throws std::bad_alloc
  int reads = 0;
  bool alters_headers = false;
  std::optional<TimePoint> silent_since;  // the peer's kernel owes an answer since then
  bool acknowledged = true;               // the peer's kernel acknowledged all that was sent
  std::vector<FrameHeader> sent;          // frames that were written completely
  bool halfway = false;                   // a header arrives, and its payload does not
  bool lingers = false;                   // end() returns false: the lane has not ended yet
  bool is_read = false;                   // the kernel reads payload until the lane is closed
  bool closed = false;
  std::vector<std::span<const std::byte>> withdrawn;  // withdrawn targets
  std::uint32_t sequence = 0;

  void says(FrameHeader h) {
    h.sequence = sequence++;
    arriving.push_back(h);
  }
  // Adds a frame with the CRC of its payload; `altered`: with a wrong CRC.
  void says_checked(FrameHeader h, bool altered) {
    const std::vector<std::byte> payload(h.length);
    h.flags |= protocol::kFlagChecked;
    h.payload_crc = crc32c(payload) ^ std::uint32_t(altered);
    says(h);
  }
};

class PaperLane final : public wire::Lane {
 public:
  PaperLane(Paper& paper, std::string rail, std::string_view wire = "paper")
      : paper_(paper), metrics_(std::make_shared<wire::LaneMetrics>(wire, std::move(rail), "near", "far")) {}
  ~PaperLane() override { paper_.closed = true; }

  Result<wire::Moved> read(wire::LaneHandler& handler, std::size_t) override {
    ++paper_.reads;
    if (paper_.lacks_memory) throw std::bad_alloc();
    wire::Moved moved;
    while (!paper_.arriving.empty()) {
      const FrameHeader h = std::exchange(paper_.arriving.front(), {});
      paper_.arriving.pop_front();
      std::array<std::byte, wire::kHeaderBytes> bytes;
      protocol::encode(h, bytes);
      if (paper_.alters_headers) bytes[20] ^= std::byte{1};
      const Result<wire::Target> target = handler.header(bytes);
      if (!target.ok()) return target.status();
      if (paper_.halfway) return moved;
      if (const Status s = handler.consumed(bytes); !s.ok()) return s;
      moved.bytes += bytes.size() + h.length;
      metrics_->received.payload_bytes.add(h.length);
    }
    if (!paper_.ending.ok()) return paper_.ending;
    return moved;
  }
  Result<wire::Moved> write(wire::LaneHandler& handler) override {
    wire::Moved moved;
    std::array<wire::OutFrame, 16> frames;
    while (taken_ == 0 || !paper_.stuck) {
      if (taken_ == 0) {
        taken_ = handler.next_frames(frames);
        for (std::size_t i = 0; i < taken_; ++i) held_.push_back(protocol::decode(frames[i].header).value());
      }
      if (taken_ == 0 || paper_.stuck) break;
      handler.written(taken_);
      handler.released(std::exchange(taken_, 0));
      moved.bytes += held_.size() * wire::kHeaderBytes;
      paper_.sent.insert(paper_.sent.end(), held_.begin(), held_.end());
      held_.clear();
    }
    moved.blocked = taken_ > 0;
    return moved;
  }
  bool at_frame_boundary() const override { return taken_ == 0; }
  bool withdraw_payload(std::span<const std::byte>) override { return !paper_.is_read; }
  bool end() override { return !paper_.lingers; }
  void withdraw_target(std::span<const std::byte> range) override { paper_.withdrawn.push_back(range); }
  wire::LaneHealth health() override {
    return {0, paper_.acknowledged ? paper_.sent.size() * wire::kHeaderBytes : 0, Nanos{0}, Nanos{0}};
  }
  wire::AckStatus ack_status() override {
    if (!paper_.silent_since) return {};
    wire::AckStatus h;
    h.heard_at = *(h.silent_since = h.late_since = paper_.silent_since);
    h.owes = true;
    return h;
  }
  const std::shared_ptr<wire::LaneMetrics>& metrics() const override { return metrics_; }
  wire::LaneEnd why_ended() const override {
    switch (paper_.ending.system_errno()) {
      case 0: return wire::LaneEnd::closed;
      case ETIMEDOUT: return wire::LaneEnd::unanswered;
      case EBADMSG: return wire::LaneEnd::corrupted;
      default: return wire::LaneEnd::reset;
    }
  }
  Status finish_writing() override { return {}; }
  int descriptor() const override { return 1'000'000; }  // greater than those that the fork guard closes

 private:
  Paper& paper_;
  std::shared_ptr<wire::LaneMetrics> metrics_;
  std::size_t taken_ = 0;
  std::vector<FrameHeader> held_;
};

}  // namespace railweave::engine
