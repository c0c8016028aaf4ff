// LaneAcks judges from TCP_INFO whether the peer's kernel owes an answer, and whether this answer is late.
//
// A lane is late when an answer is owed for 0.1 s and two round trips, whichever is longer. A lane is silent when two
// conditions hold. An answer is owed for 0.3 s and 1.5 retransmission timeouts (without back-off), whichever is longer.
// At least four packets are unanswered, one of them a retransmission. With 2 % packet loss each way, three in a row
// are lost by chance once an hour (docs/decisions/0022-silent-after-four-packets.md). One packet with three
// retransmissions counts as four. If this host retransmits nothing, because the packet waits in its own queue, a lane
// is silent after 1 s.
//
// An answer is an acknowledgement of more data (selective ones, SACK, included), or a packet without data. The peer's
// kernel sends such a packet for data that arrives out of order or twice. A packet with data is no answer by itself:
// the peer's retransmissions may arrive although no packet from this host reaches the peer.
//
// Pure: no system call, no clock. Threads: the lane's.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"
#include "wire/wire.h"

struct tcp_info;

namespace railweave::wire {

class LaneAcks {
 public:
  // Call often, every 0.1 s while an answer is owed. The time owed counts from the first poll that finds one owed. A
  // poll later than kPollMost after the previous one finds no lane silent, but the next poll may: after a pause of
  // this host or VM, the packets that waited meanwhile arrive all at once.
  AckStatus observe(TimePoint now, const tcp_info& info);

  static constexpr Nanos kLateLeast = std::chrono::milliseconds(100);
  static constexpr Nanos kSilentLeast = std::chrono::milliseconds(300);
  static constexpr Nanos kSilentUnresent = std::chrono::seconds(1);   // without a retransmission
  static constexpr double kSilentTimeouts = 1.5;                      // retransmission timeouts
  static constexpr std::uint32_t kUnansweredLeast = 4;                // packets
  static constexpr Nanos kPollMost = std::chrono::milliseconds(250);  // between two polls

 private:
  void see_answer(TimePoint now, TimePoint heard_at, const tcp_info& info);
  bool is_silent(Nanos owed_for, const tcp_info& info) const;

  TimePoint observed_at_{};                 // the last observe()
  std::optional<TimePoint> waiting_since_;  // an answer is owed since then, no more bytes acknowledged; none: not owed
  std::uint64_t waiting_at_ = 0;            // bytes acknowledged at waiting_since_
  TimePoint answered_at_{};                 // when the last answer came, or a little later
  // Values at the first poll after the last answer.
  std::uint32_t answers_ = 0;              // packets without data that arrived since the connection began
  std::uint32_t sacked_ = 0;               // packets that the peer has out of order
  std::uint32_t in_flight_ = 0;            // packets
  std::uint32_t sent_ = 0, resent_ = 0;    // packets with data, and retransmissions, since the connection began
  bool overdue_ = false;                   // a poll since the last answer found the lane silent, perhaps late
  std::optional<TimePoint> silent_since_;  // none: not silent
};

}  // namespace railweave::wire
