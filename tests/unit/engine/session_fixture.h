// SessionTest: a session with fake lanes; the test plays the owner and the peer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "engine/api/listen_queue.h"
#include "engine/api/pending_stream.h"
#include "engine/api/request.h"
#include "engine/session/session.h"
#include "tests/unit/engine/paper_lane.h"

namespace railweave::engine {

inline std::vector<std::string> warnings;
inline void remember(LogLevel level, LogTopic, const char*, int, std::string_view text) {
  if (level == LogLevel::warn) warnings.emplace_back(text);
}

inline std::shared_ptr<PendingStream> pending_stream() {
  return std::make_shared<PendingStream>(HandleContent{.instance = {}, .listener = 7, .addresses = {}}, 0,
                                         ~std::uint64_t{0}, Priority::normal, TimePoint::max());
}

class SessionTest : public testing::Test, public SessionOwner {
 protected:
  // `clock` outlives the fixture.
  explicit SessionTest(Nanos stall_timeout = Config().stall_timeout, const Clock& clock = monotonic_clock())
      : clock_(clock) {
    config_.stall_timeout = stall_timeout;
    session_ = std::make_shared<Session>(config_, *this, "paper", 1);
    warnings.clear();
    before_ = set_log_sink(remember);
  }
  ~SessionTest() override {
    recv_.reset();
    session_->fail(Status(Code::cancelled, Scope::session, "the test ended"));
    session_->close_lanes();
    set_log_sink(before_);
  }

  void add_lanes(int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(session_->add_lane(protocol::LaneId(i), {i, i},
                                     std::make_unique<PaperLane>(paper_[i], "eth" + std::to_string(i))));
  }
  void drive(int times = 1) {
    while (times-- > 0) session_->drive(1 << 20, true);
  }
  // The peer opens stream 0 by lane 0.
  void open_stream() {
    paper_[0].says(protocol::OpenFrame{.stream = 0, .priority = 1, .listener = 7, .rail_mask = ~std::uint64_t{0}});
    drive();
    recv_ = queue_->pop();
    ASSERT_TRUE(recv_);
  }
  Request* post(std::size_t bytes) {
    const Result<Request*> request = recv_->post(place_.data(), bytes);
    return request.ok() ? request.value() : nullptr;
  }
  // Returns what the session wants, as the reactor learns it after a wake.
  SessionWants take_wants() {
    static_cast<Wakeable&>(*session_).on_wake();
    return std::exchange(wants_, {});
  }
  static bool done(const Request* r) { return r->state.load() == Request::State::done; }

  const Clock& clock() const override { return clock_; }
  std::shared_ptr<ListenQueue> find_listener(std::uint32_t) override { return queue_; }
  void wake_for(std::shared_ptr<Session>) noexcept override { ++wakes_; }
  void on_woken(Session&, const SessionWants& wants) override { wants_ = wants; }
  void on_unanswered(std::shared_ptr<PendingStream> pending, const Status&) override {
    unanswered_.push_back(std::move(pending));
  }

  const Clock& clock_;
  Config config_;
  Paper paper_[4];
  std::vector<std::byte> place_ = std::vector<std::byte>(65536);
  SlotBudget budget_{2};
  std::shared_ptr<ListenQueue> queue_ = std::make_shared<ListenQueue>(7, ~std::uint64_t{0}, budget_);
  std::shared_ptr<Session> session_;
  std::unique_ptr<RecvEnd> recv_;
  LogSink before_ = nullptr;
  int wakes_ = 0;
  SessionWants wants_;
  std::vector<std::shared_ptr<PendingStream>> unanswered_;
};

}  // namespace railweave::engine
