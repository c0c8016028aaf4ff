#include "wire/bootstrap/lane_acks.h"

#include <linux/tcp.h>

#include <algorithm>
#include <utility>

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

constexpr double kProbeTimeouts = 1.25;      // retransmission timeouts for the answer to a window probe
constexpr Nanos kClocks = 50ms;              // tolerance: the kernel's times are milliseconds in ticks of up to 10 ms
constexpr Nanos kFirstProbeLeast = 200ms;    // before the first window probe: TCP_RTO_MIN, whatever the route sets
constexpr Nanos kProbeAnswersEvery = 500ms;  // a kernel answers one probe in this time (net.ipv4.tcp_invalid_ratelimit)
// in a row; by chance once in 15,000 with 2 % packet loss each way
constexpr int kKeepalivesUnanswered = 3;

Nanos timeouts(double count, Nanos timeout) { return std::chrono::duration_cast<Nanos>(count * timeout); }

std::uint32_t answers(const tcp_info& info) { return info.tcpi_segs_in - info.tcpi_data_segs_in; }

// Returns the retransmission timeout without back-off: the kernel doubles it for each unanswered retransmission.
Nanos plain_timeout(const tcp_info& info) {
  const std::uint32_t doubled = info.tcpi_unacked > 0 ? std::min<std::uint32_t>(info.tcpi_backoff, 16) : 0;
  return std::chrono::microseconds(info.tcpi_rto >> doubled);
}

// Returns how long the answer to a window probe may take. Each probe follows after twice the previous interval. The
// peer's kernel ignores a probe that arrives too soon after an answered one; the next probe's answer counts then.
Nanos probe_patience(const tcp_info& info) {
  const Nanos resend_after = std::chrono::microseconds(info.tcpi_rto);
  const Nanos answer = timeouts(kProbeTimeouts, resend_after);
  const int answered = info.tcpi_backoff - info.tcpi_probes;
  if (answered < 0) return answer;
  const Nanos gap = std::max(resend_after, kFirstProbeLeast) * (1 << std::min(answered, 8));
  return gap < kProbeAnswersEvery ? 2 * gap + answer : answer;
}

}  // namespace

AckStatus LaneAcks::observe(TimePoint now, const tcp_info& info) {
  const bool in_time = now - std::exchange(observed_at_, now) <= kPollMost;
  // time of the last packet with an acknowledgement, with data or without
  const TimePoint acknowledged_at = now - std::chrono::milliseconds(info.tcpi_last_ack_recv);
  AckStatus h;
  h.heard_at = std::max<TimePoint>(acknowledged_at, now - std::chrono::milliseconds(info.tcpi_last_data_recv));
  h.usual = std::max<Nanos>(kLateLeast, 2 * std::chrono::microseconds(info.tcpi_rtt));
  h.owes = info.tcpi_unacked > 0 || info.tcpi_probes > 0;  // a window probe needs an answer, too
  h.owes_keepalive = info.tcpi_unacked == 0 && info.tcpi_probes > 0 && info.tcpi_backoff == 0;
  h.asks_later = !h.owes && info.tcpi_backoff > 0;
  if (!h.owes || !waiting_since_ || info.tcpi_bytes_acked != waiting_at_) {
    waiting_since_ = h.owes ? std::optional(now) : std::nullopt;
    waiting_at_ = info.tcpi_bytes_acked;
    silent_since_.reset();
    see_answer(now, acknowledged_at, info);
    return h;
  }
  if (answers(info) != answers_ || info.tcpi_sacked != sacked_) see_answer(now, acknowledged_at, info);
  // Any answer counts, also one that says that the window is closed.
  const TimePoint since = std::max(*waiting_since_, answered_at_);
  if (silent_since_ && since > *silent_since_ + kClocks) silent_since_.reset();
  if (!silent_since_ && is_silent(now - since, info)) {
    if (in_time || overdue_) silent_since_ = since;
    overdue_ = true;
  }
  if (now - since >= h.usual) h.late_since = since;
  h.silent_since = silent_since_;
  return h;
}

void LaneAcks::see_answer(TimePoint now, TimePoint heard_at, const tcp_info& info) {
  answered_at_ = heard_at;
  answers_ = answers(info);
  sacked_ = info.tcpi_sacked;
  sent_ = info.tcpi_data_segs_out;
  resent_ = info.tcpi_total_retrans;
  in_flight_ = info.tcpi_unacked - std::min(info.tcpi_unacked, info.tcpi_sacked + info.tcpi_lost) + info.tcpi_retrans;
  // After this time the kernel counts all packets as lost, although none is known to be lost.
  if (now - heard_at >= plain_timeout(info)) in_flight_ += info.tcpi_lost;
  overdue_ = false;
}

bool LaneAcks::is_silent(Nanos owed_for, const tcp_info& info) const {
  if (info.tcpi_unacked == 0) {
    if (info.tcpi_backoff == 0 && info.tcpi_probes < kKeepalivesUnanswered) return false;
    return owed_for >= std::max(kSilentUnresent, probe_patience(info));
  }
  if (owed_for < std::max(kSilentLeast, timeouts(kSilentTimeouts, plain_timeout(info)))) return false;
  if (info.tcpi_total_retrans == resent_ && info.tcpi_retransmits == 0) return owed_for >= kSilentUnresent;
  return in_flight_ + (info.tcpi_data_segs_out - sent_) >= kUnansweredLeast;
}

}  // namespace railweave::wire
