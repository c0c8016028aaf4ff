// A child process that shares a rail's account: a reactor, a SharedAccount, and fake lanes that follow the test's
// orders. The peers of all lanes always have more to send. Create all processes before the test starts threads.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include "engine/credit/lane_share.h"
#include "engine/credit/shared_account.h"
#include "tests/engine/forked.h"
#include "tests/unit/engine/forged_account.h"
#include "tests/unit/engine/on_reactor.h"

namespace railweave::engine {

struct AccountOrder {
  enum What : int { poll, run, forge, fork };
  What what = poll;
  int lanes = 0;                  // least number of lanes of the process from now on
  std::uint64_t until_bytes = 0;  // run: ends when each lane received so many more bytes
  bool is_announced = false;      // run: sends an extra report once one of the process's lanes may send
  Forgery forgery{};              // forge: written again and again until the process is killed
};

struct AccountReport {
  bool serves = false, is_served = false, same_memory = true;  // same_memory: as at the last report
  RailLoad load{};
  int used = 0;             // places of the memory that were ever taken
  bool has_ended = true;    // run: ended in time
  Nanos waited_longest{0};  // longest row of polls at which a lane might not send
  std::uint64_t window_least = ~std::uint64_t{0};
  pid_t forked = -1;
};

// A fake lane. At each poll, its peer sends up to kPiece bytes, as far as the credit allows.
class PaperReceiver {
 public:
  explicit PaperReceiver(std::shared_ptr<RailAccount> account)
      : share_(std::move(account), Rate::from_megabits(1000)) {}

  void poll() {
    const TimePoint t = now();
    const LaneShare::Credit credit = share_.poll(t, arrivals_, std::chrono::microseconds(100));
    window_least_ = std::min(window_least_, credit.window_bytes);
    if (arrivals_.position < credit.limit) {
      arrivals_.position += std::min(kPiece, credit.limit - arrivals_.position);
      ++arrivals_.segments;
      waits_since_ = {};
      return;
    }
    if (waits_since_ == TimePoint{}) waits_since_ = t;
    waited_longest_ = std::max(waited_longest_, t - waits_since_);
  }
  bool waits() const { return waits_since_ != TimePoint{}; }
  std::uint64_t received_bytes() const { return arrivals_.position; }
  Nanos waited_longest() const { return waited_longest_; }
  std::uint64_t window_least() const { return window_least_; }

 private:
  static constexpr std::uint64_t kPiece = 8 * KiB;

  LaneShare share_;
  LaneShare::Arrivals arrivals_{.position = 1000, .segments = 1, .waiting_kib = 1000};
  TimePoint waits_since_{};  // first poll at which the peer might not send; TimePoint{}: it may send
  Nanos waited_longest_{0};
  std::uint64_t window_least_ = ~std::uint64_t{0};
};

// Runs in the child: carries out the orders, and reports after each.
class AccountBody {
 public:
  AccountBody(engine_test::Wire& wire, int interface_index) : wire_(wire), shared_(reactor_, interface_index) {}

  int run() {
    ::alarm(100);  // ends this process if the test ended without killing it
    if (!reactor_.start().ok()) return 1;
    on_reactor(reactor_, [&] { shared_.open(); });
    while (const auto order = wire_.receive<AccountOrder>()) {
      while (int(lanes_.size()) < order->lanes) lanes_.emplace_back(shared_.account());
      bool in_time = true;
      pid_t forked = -1;
      if (order->what == AccountOrder::poll) poll();
      if (order->what == AccountOrder::run) in_time = go_on(*order);
      if (order->what == AccountOrder::forge) forge(order->forgery);
      if (order->what == AccountOrder::fork) forked = fork_sleeper();
      if (!answer(in_time, forked)) break;
    }
    on_reactor(reactor_, [&] { shared_.close(); });
    return 0;
  }

 private:
  void poll() {
    for (PaperReceiver& lane : lanes_) lane.poll();
  }

  bool go_on(const AccountOrder& order) {
    std::vector<std::uint64_t> until;
    for (const PaperReceiver& lane : lanes_) until.push_back(lane.received_bytes() + order.until_bytes);
    const auto is_over = [&] {
      for (std::size_t i = 0; i < until.size(); ++i) {
        if (lanes_[i].received_bytes() < until[i]) return false;
      }
      return true;
    };
    bool is_announced = !order.is_announced;
    for (const TimePoint end = now() + std::chrono::seconds(30); !is_over();
         std::this_thread::sleep_for(std::chrono::microseconds(200))) {
      poll();
      if (!is_announced &&
          std::any_of(lanes_.begin(), lanes_.end(), [](const PaperReceiver& lane) { return !lane.waits(); }))
        is_announced = answer(true, -1);
      if (now() >= end) return false;
    }
    return true;
  }

  void forge(const Forgery& forgery) {
    for (std::mt19937_64 random{1};;) forge_account(shared_.account()->memory(), forgery, random);
  }

  static pid_t fork_sleeper() {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::alarm(100);
    for (;;) ::pause();
  }

  bool answer(bool in_time, pid_t forked) {
    AccountReport report{.has_ended = in_time, .forked = forked};
    on_reactor(reactor_, [&] { report.serves = shared_.serves(), report.is_served = shared_.is_served(); });
    AccountMemory& memory = shared_.account()->memory();
    report.same_memory = !memory_ || memory_ == &memory;
    memory_ = &memory;
    report.load = load_of(memory, now());
    report.used = memory.used;
    for (const PaperReceiver& lane : lanes_) {
      report.waited_longest = std::max(report.waited_longest, lane.waited_longest());
      report.window_least = std::min(report.window_least, lane.window_least());
    }
    return wire_.say(report);
  }

  engine_test::Wire& wire_;
  Reactor reactor_;
  SharedAccount shared_;
  std::deque<PaperReceiver> lanes_;
  const AccountMemory* memory_ = nullptr;  // at the last report
};

class AccountProcess {
 public:
  explicit AccountProcess(int interface_index)
      : forked_([=](engine_test::Wire& wire) { return AccountBody(wire, interface_index).run(); }) {}

  void begin(const AccountOrder& order) { EXPECT_TRUE(forked_.wire().say(order)); }
  // Waits for the report on the order that begin() sent.
  AccountReport end() {
    const auto report = forked_.wire().receive<AccountReport>();
    EXPECT_TRUE(report) << "the process is gone";
    return report.value_or(AccountReport{.has_ended = false});
  }
  AccountReport act(const AccountOrder& order) {
    begin(order);
    return end();
  }
  AccountReport poll(int lanes = 0) { return act({.what = AccountOrder::poll, .lanes = lanes}); }
  engine_test::Forked& process() { return forked_; }

 private:
  engine_test::Forked forked_;
};

}  // namespace railweave::engine
