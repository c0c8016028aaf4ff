// CreditWorld: hosts that send to each other through a switch in virtual time, as far as credit windows reach
// (docs/internals/credit_windows.md). The sender's CreditWindow and the receiver's LaneShare and AnnouncedCredit are
// the shipped ones; links, kernels, processes and clocks are simulated. Each host has one rail with an account.
// Statements may be late, lost or doubled; processes may stand still; clocks differ in speed.
#pragma once

#include <deque>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "engine/credit/announced_credit.h"
#include "engine/credit/lane_share.h"
#include "protocol/credit_window.h"
#include "tests/sim/credit/port.h"

namespace railweave::sim {

struct CreditOptions {
  int hosts = 2;
  Rate rate = Rate::from_megabits(1000);  // of each link
  Nanos one_way = std::chrono::microseconds(25);
  bool kernel_holds = true;                             // the wire bounds what arrives (Lane::bound_arrivals)
  double late = 0, lost = 0, twice = 0;                 // shares of the statements, 0 to 1
  Nanos wakes_in_most = std::chrono::microseconds(60);  // longest delay until a process that waits runs
  int pausing = 0;                                      // the first so many hosts stand still at times
  double clocks_apart = 0;                              // share by which clocks are faster or slower, at most
  unsigned seed = 1;
};

class CreditLane;

class CreditWorld {
 public:
  explicit CreditWorld(const CreditOptions& options);
  ~CreditWorld();

  // Returns a new lane, whose sender has nothing to send yet.
  CreditLane& connect(int from, int to);
  // Gives the lane's sender so many more bytes to send.
  void post(CreditLane& lane, std::uint64_t bytes);
  // The lane ends, with all that it has under way.
  void disconnect(CreditLane& lane);
  // The process that receives by the lane stands still for `time` from now on.
  void pause_receiver(CreditLane& lane, Nanos time);
  // The host's processes stand still for `time` from now on.
  void pause(int host, Nanos time);
  void run(Nanos time);
  // Forgets what was measured so far.
  void forget();

  TimePoint now() const { return now_; }
  const Port& port(int host) const { return hosts_[std::size_t(host)].in; }
  const std::deque<std::unique_ptr<CreditLane>>& lanes() const { return lanes_; }
  engine::RailAccount& account(int host) const { return *hosts_[std::size_t(host)].account; }
  std::mt19937& random() { return random_; }

 private:
  friend class CreditLane;
  struct Host {
    explicit Host(Rate rate) : in(rate), out(rate) {}
    Port in, out;
    std::shared_ptr<engine::RailAccount> account = std::make_shared<engine::RailAccount>();
    double clock_speed = 1;
    TimePoint paused_until{};
  };
  struct Event {
    enum class Kind { at_switch, arrive, read, acknowledge, apply, poll, send } kind;
    TimePoint at;
    std::uint64_t number = 0;  // in the order in which events were made
    CreditLane* lane = nullptr;
    std::uint64_t a = 0, b = 0, edition = 0;
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  Host& host(int number) { return hosts_[std::size_t(number)]; }
  // Convert a time to the host's clock, and back. global() rounds up, so that what is due by that clock is due.
  TimePoint local(int host_number, TimePoint t) const;
  TimePoint global(int host_number, TimePoint local_time) const;
  bool stands_still(int host_number) const { return now_ < hosts_[std::size_t(host_number)].paused_until; }
  // Returns when a process of the host runs that has something to do from now on.
  TimePoint runs_at(int host_number);
  bool chance(double part) { return part > 0 && std::uniform_real_distribution<>(0, 1)(random_) < part; }
  void after(Event event);
  void begin_pauses();

  const CreditOptions options_;
  std::mt19937 random_;
  TimePoint now_;
  std::uint64_t events_made_ = 0;
  std::priority_queue<Event> events_;
  std::deque<Host> hosts_;
  std::deque<std::unique_ptr<CreditLane>> lanes_;
};

}  // namespace railweave::sim
