// CreditLane: a lane of a CreditWorld, with the sender's process and kernel at one host and the receiver's at another.
#pragma once

#include <optional>

#include "tests/sim/credit/credit_world.h"

namespace railweave::sim {

class CreditLane {
 public:
  CreditLane(CreditWorld& world, int from, int to);

  int from() const { return from_; }
  int to() const { return to_; }
  bool is_open() const { return open_; }
  std::uint64_t waiting_bytes() const { return waiting_; }
  std::uint64_t arrived_bytes() const { return arrived_ - forgotten_; }
  std::uint64_t under_way() const { return taken_ - arrived_; }
  // The longest time without an arrival while the sender had something to send, since forget().
  Nanos longest_gap(TimePoint now) const { return std::max(longest_gap_, gap_at(now)); }

 private:
  friend class CreditWorld;
  using Event = CreditWorld::Event;

  void handle(const Event& event);
  void post(std::uint64_t bytes);
  void send();
  void send_later(TimePoint at);
  void transmit();
  void acknowledge();
  void arrive(const Event& packet);
  bool receiver_stands_still() const { return world_.stands_still(to_) || world_.now() < receiver_paused_until_; }
  TimePoint receiver_runs_at() { return std::max(world_.runs_at(to_), receiver_paused_until_); }
  void read();
  void poll();
  bool bound_arrivals(std::uint64_t window_bytes);
  void say(const protocol::Credit& credit);
  void forget();
  bool wants() const { return waiting_ > 0 || under_way() > 0; }
  Nanos gap_at(TimePoint now) const { return wants() ? now - alive_at_ : Nanos{0}; }

  CreditWorld& world_;
  const int from_, to_;
  bool open_ = true;
  // The sender.
  protocol::CreditWindow window_;
  std::uint64_t waiting_ = 0, taken_ = 0, on_wire_ = 0, acknowledged_ = 0;
  std::uint64_t edge_;  // end of the receiver's TCP window, as acknowledged to the sender's kernel
  bool send_pending_ = false;
  // The receiver.
  std::optional<engine::LaneShare> share_;
  engine::AnnouncedCredit announced_;
  engine::LaneShare::Arrivals arrivals_;
  std::uint64_t arrived_ = 0, edition_ = 0;
  std::uint64_t advertised_;  // end of the receiver's TCP window, which never shrinks
  std::uint32_t last_waiting_kib_ = 0;
  bool read_pending_ = false;
  TimePoint receiver_paused_until_{};
  TimePoint poll_at_ = TimePoint::max();
  // Measurements.
  std::uint64_t forgotten_ = 0;
  TimePoint alive_at_{};
  Nanos longest_gap_{0};
};

}  // namespace railweave::sim
