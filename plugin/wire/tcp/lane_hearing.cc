#include "wire/tcp/lane_hearing.h"

#include <linux/tcp.h>

#include <algorithm>

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

// What is unacknowledged for so much longer than the kernel waits before it sends again, goes nowhere; TCP alone would try
// for a quarter of an hour. A stopped peer's kernel still answers. (TCP_USER_TIMEOUT would not do: it also ends a connection
// whose peer answers, but takes nothing for a while.)
constexpr double kSilenceRtos = 1.25;
constexpr Nanos kClocks = 50ms;  // the kernel's tells milliseconds, by ticks of up to ten
constexpr Nanos kFirstProbeLeast = 200ms;    // after a window shut: TCP_RTO_MIN, whatever the route says
constexpr Nanos kProbeAnswersEvery = 500ms;  // at most: net.ipv4.tcp_invalid_ratelimit

// How long an answer may take. Of the probes of a shut window, each sent after twice the time, a peer's kernel ignores one that
// comes too soon after another it answered: the next one's answer will do.
Nanos patience(const tcp_info& info) {
  const Nanos resend_after = std::chrono::microseconds(info.tcpi_rto);
  const Nanos answer = std::chrono::duration_cast<Nanos>(kSilenceRtos * resend_after);
  const int answered = info.tcpi_backoff - info.tcpi_probes;
  if (info.tcpi_unacked > 0 || info.tcpi_probes == 0 || answered < 0) return answer;
  const Nanos gap = std::max(resend_after, kFirstProbeLeast) * (1 << std::min(answered, 8));
  return gap < kProbeAnswersEvery ? 2 * gap + answer : answer;
}

}  // namespace

Hearing LaneHearing::look(TimePoint now, const tcp_info& info) {
  const TimePoint answered_at = now - std::chrono::milliseconds(info.tcpi_last_ack_recv);
  Hearing h;
  h.heard_at = std::max<TimePoint>(answered_at, now - std::chrono::milliseconds(info.tcpi_last_data_recv));
  h.owes = info.tcpi_unacked > 0 || info.tcpi_probes > 0;  // a probe of a shut window wants its answer, too
  h.asks_later = !h.owes && info.tcpi_backoff > 0;
  if (!h.owes || !waiting_since_ || info.tcpi_bytes_acked != waiting_at_) {
    waiting_since_ = h.owes ? std::optional(now) : std::nullopt;
    waiting_at_ = info.tcpi_bytes_acked;
    silent_since_.reset();
    return h;
  }
  // Any answer counts, if only that the window is shut.
  const TimePoint since = std::max(*waiting_since_, answered_at);
  if (silent_since_ && since > *silent_since_ + kClocks) silent_since_.reset();
  if (!silent_since_ && now - since >= patience(info)) silent_since_ = since;
  h.silent_since = silent_since_;
  return h;
}

}  // namespace railweave::wire
