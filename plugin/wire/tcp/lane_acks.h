// What our kernel hears of a connection's peer, by its TCP_INFO: whether an answer is owed, and whether one is late.
//
// A lane is late when an answer is owed for 0.1 s and two round trips. It is silent when an answer is owed for 0.3 s
// and one and a half times the retransmission timeout (without back-off), and at least four packets are unanswered, one
// of them a retransmission: where 2 % of the packets are lost each way, three in a row are lost by chance once an hour
// (docs/decisions/0022-silent-after-four-packets.md). A packet that is lost alone and sent again three times counts as
// four. Where our host sends nothing again, because the packet waits in its own queue, a lane is silent after a second.
//
// An answer to what was sent is more of it acknowledged, if only selectively (SACK), or a packet without data: the
// peer's kernel sends one for all that comes out of order or a second time. A packet with data is none by itself: where
// nothing of ours arrives any more, what the peer sends again and again may still reach us.
//
// Pure. Threads: the lane's.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"
#include "wire/wire.h"

struct tcp_info;

namespace railweave::wire {

class LaneAcks {
 public:
  // To be called often, every 0.1 s while an answer is owed: it is owed from the first look that sees so. A look that
  // comes later than kPollMost makes no lane silent, but the next one may: what arrived while nothing ran here comes in
  // at once when all goes on.
  AckStatus poll(TimePoint now, const tcp_info& info);

  static constexpr Nanos kLateLeast = std::chrono::milliseconds(100);
  static constexpr Nanos kSilentLeast = std::chrono::milliseconds(300);
  static constexpr Nanos kSilentUnresent = std::chrono::seconds(1);
  static constexpr double kSilentTimeouts = 1.5;
  static constexpr std::uint32_t kUnansweredLeast = 4;  // packets
  static constexpr Nanos kPollMost = std::chrono::milliseconds(250);

 private:
  void see_answer(TimePoint now, TimePoint heard_at, const tcp_info& info);
  bool is_silent(Nanos owed_for, const tcp_info& info) const;

  TimePoint looked_at_{};
  std::optional<TimePoint> waiting_since_;  // an answer is owed, and none has come since ...
  std::uint64_t waiting_at_ = 0;            // ... that of this byte
  TimePoint answered_at_{};                 // when the last answer came, or a little later
  // At the first look after the last answer.
  std::uint32_t answers_ = 0;            // packets without data that came, ever
  std::uint32_t sacked_ = 0;             // packets that the peer has out of order
  std::uint32_t in_flight_ = 0;          // packets
  std::uint32_t sent_ = 0, resent_ = 0;  // packets with data, ever
  bool overdue_ = false;                 // the last look found it silent, and came late
  std::optional<TimePoint> silent_since_;
};

}  // namespace railweave::wire
