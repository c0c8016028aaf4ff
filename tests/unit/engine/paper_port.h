// A simulated switch port of 1 Gb/s with a rail behind it, in virtual time. Senders always have more to send, and queue
// packets of 4 KiB in the port as far as the receiver's credit allows. Credit and acknowledgements reach the sender one
// round trip later.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "engine/credit/lane_share.h"

namespace railweave::engine {

class PaperPort {
 public:
  static constexpr std::uint64_t kPacket = 4 * KiB;
  static constexpr Nanos kPacketTime{32'768};
  static constexpr std::uint64_t kOwnBound = 256 * KiB;  // of a sender, whatever its credit
  static constexpr Nanos kRtt = std::chrono::microseconds(100);

  struct Sender {
    explicit Sender(const std::shared_ptr<RailAccount>& account) : share(account, Rate::from_megabits(1000)) {}
    LaneShare share;
    LaneShare::Arrivals arrivals{.position = 0, .waiting_kib = 1000};
    LaneShare::Credit heard{.window_bytes = 16 * KiB};
    std::uint64_t sent = 0, acknowledged = 0;
    bool stands_still = false;        // the sender's process does not run
    std::uint64_t arrived_bytes = 0;  // since forget(), like the fields below
    TimePoint arrived_at{};
    Nanos longest_pause{0};
  };

  PaperPort(std::shared_ptr<RailAccount> account, TimePoint now) : account_(std::move(account)), now_(now) {}

  void add(int count) {
    while (count-- > 0) {
      senders.emplace_back(account_);
      send(senders.back());
    }
  }
  void run(Nanos time) {
    for (const TimePoint end = now_ + time; now_ < end; now_ += kPacketTime) step();
    for (Sender& s : senders) note_pause(s);
  }
  // Resets all measurements.
  void forget() {
    for (Sender& s : senders) s.arrived_bytes = 0, s.arrived_at = now_, s.longest_pause = {};
    most_queued_bytes = idle_steps = steps = 0;
  }
  double jains_index() const {
    double sum = 0, squares = 0;
    for (const Sender& s : senders)
      sum += double(s.arrived_bytes), squares += double(s.arrived_bytes) * double(s.arrived_bytes);
    return sum * sum / (double(senders.size()) * squares);
  }
  Nanos longest_pause() const { return std::ranges::max_element(senders, {}, &Sender::longest_pause)->longest_pause; }
  double goodput() const { return 1 - double(idle_steps) / double(steps); }
  TimePoint now() const { return now_; }

  std::deque<Sender> senders;
  std::uint64_t most_queued_bytes = 0, idle_steps = 0, steps = 0;

 private:
  struct Said {
    TimePoint at;
    Sender* to;
    std::uint64_t position;
    LaneShare::Credit credit;
  };

  void step() {
    ++steps;
    most_queued_bytes = std::max(most_queued_bytes, queue_.size() * kPacket);
    idle_steps += queue_.empty();
    if (!queue_.empty()) {
      Sender& s = *queue_.front();
      queue_.pop_front();
      s.arrivals.position += kPacket;
      ++s.arrivals.segments;
      s.arrived_bytes += kPacket;
      note_pause(s);
      s.arrived_at = now_;
      poll(s);
    }
    for (Sender& s : senders)
      if (s.share.due() <= now_) poll(s);
    for (; !said_.empty() && said_.front().at <= now_; said_.pop_front()) {
      Sender& s = *said_.front().to;
      s.acknowledged = said_.front().position;
      s.heard = said_.front().credit;
      send(s);
    }
  }
  void poll(Sender& s) {
    said_.push_back({now_ + kRtt, &s, s.arrivals.position, s.share.poll(now_, s.arrivals, kRtt)});
  }
  void send(Sender& s) {
    const std::uint64_t most = std::min(s.heard.window_bytes, kOwnBound);
    for (; !s.stands_still && s.sent - s.acknowledged + kPacket <= most && s.sent + kPacket <= s.heard.limit;
         s.sent += kPacket)
      queue_.push_back(&s);
  }
  void note_pause(Sender& s) const { s.longest_pause = std::max(s.longest_pause, now_ - s.arrived_at); }

  const std::shared_ptr<RailAccount> account_;
  TimePoint now_;
  std::deque<Sender*> queue_;
  std::deque<Said> said_;
};

}  // namespace railweave::engine
