#include "tests/sim/frame_rules.h"

#include <algorithm>

#include "protocol/completion.h"
#include "protocol/frame_fields.h"

namespace railweave::sim {
namespace {

using protocol::FrameHeader;
using protocol::FrameType;
using protocol::GrantFrame;
using protocol::SegmentFrame;

std::string numbered(const FrameHeader& h) {
  return std::string(name_of(h.type)) + " of message " + std::to_string(h.message);
}

// Eager bytes that may be under way, unless the stream is urgent.
constexpr std::uint64_t kEagerBytesMost = 32 * KiB;

// Messages that are over at both ends and that a late frame may still name.
constexpr std::uint64_t kMessagesRemembered = 2 * protocol::kMessagesInFlight;

bool acknowledges(const FrameHeader& h) { return h.type == FrameType::ack || h.type == FrameType::grant; }

}  // namespace

FrameRules::Message& FrameRules::at(std::uint64_t message) {
  if (message < forgotten_) return old_ = {};
  if (message - forgotten_ >= messages_.size()) messages_.resize(message - forgotten_ + 1);
  return messages_[message - forgotten_];
}

void FrameRules::forget_old() {
  const std::uint64_t over = std::min({acked_, whole_, ended_});
  for (; forgotten_ + kMessagesRemembered < over; ++forgotten_) messages_.pop_front();
}

// ---------------------------------------------------------------------------------------------------------- the sender

void FrameRules::send_posted(std::uint64_t size, std::uint64_t tag) {
  Message& m = at(sends_++);
  m.size = size;
  m.tag = tag;
}

void FrameRules::sender_takes(const FrameHeader& h) {
  if (h.message >= sends_) return wrong_(numbered(h) + ", which was not posted");
  Message& m = at(h.message);
  if (!opened_) wrong_(numbered(h) + " before the stream was answered");
  const auto segment = SegmentFrame::of(h);
  if (segment.size != m.size || segment.tag != m.tag) wrong_(numbered(h) + " with another size or tag");
  if (h.message < acked_) wrong_(numbered(h) + ", which is acknowledged");
  if (h.message >= acked_ + protocol::kMessagesInFlight)
    wrong_(numbered(h) + " beyond the messages that may be in flight");
  if (segment.eager) return check_eager(h, m);
  const std::uint64_t end = segment.offset + segment.length;
  if (!m.granted) wrong_(numbered(h) + ", which was not granted");
  if (end > m.capacity)
    wrong_(numbered(h) + " up to byte " + std::to_string(end) + " of a receive of " + std::to_string(m.capacity));
}

void FrameRules::check_eager(const FrameHeader& h, Message& m) {
  if (m.size > eager_limit_bytes_) wrong_(numbered(h) + " goes eagerly, too large for a slot");
  const std::uint16_t slot = SegmentFrame::of(h).eager_slot;
  std::uint64_t others = 0;
  for (std::uint64_t i = acked_; i < sends_; ++i) {
    if (i == h.message || !at(i).eager_out) continue;
    others += at(i).size;
    if (at(i).slot == slot) wrong_(numbered(h) + " in the slot of message " + std::to_string(i));
  }
  const bool bounded = priority_ != Priority::urgent && !m.eager_out && others > 0;
  if (bounded && others + m.size > kEagerBytesMost) wrong_(numbered(h) + ": too many eager bytes on their way");
  m.eager_out = true;
  m.slot = slot;
}

void FrameRules::sender_wrote(const FrameHeader& h) {
  Message& m = at(h.message);
  m.written += h.length;
  m.handed_over = m.written >= m.size;
}

// An eager send may end before the receiver has the message: the kernel has it.
void FrameRules::send_ends(std::uint64_t message) {
  const Message& m = at(message);
  if (m.whole || (m.eager_out && m.handed_over)) return;
  wrong_("send " + std::to_string(message) + " is done, but " +
         (m.eager_out ? "it was not wholly handed over" : "the receiver does not have it"));
}

void FrameRules::sender_hears(const FrameHeader& h) {
  if (h.type == FrameType::opened) opened_ = true;
  if (acknowledges(h)) acked_ = std::max(acked_, ack_in(h));
  if (h.type != FrameType::grant) return;
  at(h.message).granted = true;
}

// -------------------------------------------------------------------------------------------------------- the receiver

void FrameRules::receive_posted(std::uint64_t capacity) {
  at(receives_++).capacity = capacity;
  while (whole_ < receives_ && at(whole_).whole) ++whole_;
}

void FrameRules::receiver_meets(const FrameHeader& h) { at(h.message).eager_in = SegmentFrame::of(h).eager; }

void FrameRules::receiver_has(const FrameHeader& h) {
  Message& m = at(h.message);
  m.arrived += h.length;
  m.whole = m.arrived == SegmentFrame::of(h).size;
  while (whole_ < receives_ && at(whole_).whole) ++whole_;
}

void FrameRules::receiver_takes(const FrameHeader& h) {
  if (acknowledges(h) && ack_in(h) > whole_)
    wrong_(numbered(h) + " acknowledges " + std::to_string(ack_in(h)) + " messages, of which " +
           std::to_string(whole_) + " are there");
  if (h.type != FrameType::grant) return;
  if (h.message >= receives_) return wrong_(numbered(h) + ", which has no receive");
  const std::uint64_t capacity = at(h.message).capacity, granted = GrantFrame::of(h).capacity;
  if (granted != capacity)
    wrong_(numbered(h) + ": " + std::to_string(granted) + " bytes, its receive has " + std::to_string(capacity));
}

void FrameRules::receiver_wrote(const FrameHeader& h) {
  if (acknowledges(h)) ack_written_ = std::max(ack_written_, ack_in(h));
}

void FrameRules::receive_ends(std::uint64_t message) {
  Message& m = at(message);
  if (!m.whole) wrong_("receive " + std::to_string(message) + " is done before its message was there");
  if (!m.eager_in && message >= std::max(ack_written_, waived_))
    wrong_("receive " + std::to_string(message) + " is done before its ack was handed over");
  ended_ = message + 1;
  forget_old();
}

}  // namespace railweave::sim
