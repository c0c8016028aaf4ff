#include "engine/session/session_watch.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <array>
#include <future>
#include <utility>

#include "base/clock.h"
#include "engine/api/pending_stream.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

// The state of a fake lane, written and read by the test. Belongs to the reactor's thread.
struct Line {
  std::uint64_t outstanding_bytes = 0;
  int looks = 0;  // calls of ack_status()
  int reads = 0;
  bool has_descriptor = true;
};

// A fake lane that takes all frames, and on which nothing arrives.
class QuietLane final : public wire::Lane {
 public:
  explicit QuietLane(Line& line) : line_(line), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  Result<wire::Moved> read(wire::LaneHandler&, std::size_t) override { return ++line_.reads, wire::Moved{0, true}; }
  Result<wire::Moved> write(wire::LaneHandler& handler) override {
    std::array<wire::OutFrame, 16> frames;
    const std::size_t n = handler.next_frames(frames);
    handler.written(n);
    handler.released(n);
    return wire::Moved{n * wire::kHeaderBytes, true};
  }
  bool at_frame_boundary() const override { return true; }
  bool withdraw_payload(std::span<const std::byte>) override { return true; }
  void withdraw_target(std::span<const std::byte>) override {}
  wire::LaneHealth health() override { return {.outstanding_bytes = line_.outstanding_bytes}; }
  wire::AckStatus ack_status() override { return ++line_.looks, wire::AckStatus{}; }
  const std::shared_ptr<wire::LaneMetrics>& metrics() const override { return metrics_; }
  wire::LaneEnd why_ended() const override { return wire::LaneEnd::closed; }
  Status finish_writing() override { return {}; }
  int descriptor() const override { return line_.has_descriptor ? fd_.get() : -1; }

 private:
  Line& line_;
  OwnedFd fd_;
  const std::shared_ptr<wire::LaneMetrics> metrics_ =
      std::make_shared<wire::LaneMetrics>("paper", "quiet", "near", "far");
};

class SessionWatchTest : public testing::Test, public SessionOwner {
 protected:
  ~SessionWatchTest() override {
    reactor_.stop();
    watch_.reset();
    session_->fail(Status(Code::cancelled, Scope::session, "the test ended"));
    session_->close_lanes();
  }

  std::shared_ptr<ListenQueue> find_listener(std::uint32_t) override { return nullptr; }
  void wake_for(std::shared_ptr<Session>) noexcept override {}
  void on_woken(Session&, const SessionWants&) override {}
  void on_unanswered(std::shared_ptr<PendingStream>, const Status&) override {}

  Config config_;
  Line line_;
  Reactor reactor_;
  std::shared_ptr<Session> session_ = std::make_shared<Session>(config_, *this, "quiet", 1);
  std::unique_ptr<SessionWatch> watch_ = std::make_unique<SessionWatch>(reactor_, session_);
};

TEST_F(SessionWatchTest, poll__owed_answers_are_checked_soon_though_a_later_was_due) {
  ASSERT_TRUE(reactor_.start().ok());
  std::promise<int> looks;
  reactor_.run_soon([&] {
    ASSERT_TRUE(session_->add_lane(0, {}, std::make_unique<QuietLane>(line_)));
    session_->open(std::make_shared<PendingStream>(HandleContent{.instance = {}, .listener = 7, .addresses = {}}, 0,
                                                   ~std::uint64_t{0}, Priority::normal, TimePoint::max()));
    // However late the machine is, timers run in this order: polls for owed answers, this timer, the poll that a
    // waiting caller is due.
    reactor_.at(now() + PeerHeartbeat::kProbeEvery - 100ms, [&] { looks.set_value(line_.looks); });
    watch_->poll();
    line_.outstanding_bytes = 1000;
    watch_->poll();
  });
  EXPECT_GT(looks.get_future().get(), 1);  // the first poll was at once
}

class PendingQuietLane final : public wire::PendingLane {
 public:
  PendingQuietLane(Line& line, int& polls, int polls_needed)
      : line_(line), polls_(polls), polls_needed_(polls_needed) {}
  Result<wire::Offer> offer() override { return wire::Offer{}; }
  Status complete(wire::Offer) override { return {}; }
  void start(wire::Bootstrap) override {}
  Result<std::unique_ptr<wire::Lane>> poll() override {
    if (++polls_ < polls_needed_) return std::unique_ptr<wire::Lane>();
    return std::unique_ptr<wire::Lane>(std::make_unique<QuietLane>(line_));
  }

 private:
  Line& line_;
  int& polls_;
  const int polls_needed_;
};

// Long before any other poll is due.
constexpr Nanos kSoon = 1s;

TEST_F(SessionWatchTest, poll__a_lane_without_a_descriptor_is_polled_by_time) {
  ASSERT_TRUE(reactor_.start().ok());
  std::promise<int> reads;
  line_.has_descriptor = false;
  reactor_.run_soon([&] {
    ASSERT_TRUE(session_->add_lane(0, {}, std::make_unique<QuietLane>(line_)));
    watch_->poll();
    reactor_.at(now() + kSoon, [&] { reads.set_value(line_.reads); });
  });
  EXPECT_GT(reads.get_future().get(), 10);
}

TEST_F(SessionWatchTest, poll__a_quiet_lane_with_a_descriptor_is_left_alone) {
  ASSERT_TRUE(reactor_.start().ok());
  std::promise<int> reads;
  reactor_.run_soon([&] {
    ASSERT_TRUE(session_->add_lane(0, {}, std::make_unique<QuietLane>(line_)));
    watch_->poll();
    reactor_.at(now() + kSoon, [&] { reads.set_value(line_.reads); });
  });
  EXPECT_LE(reads.get_future().get(), 3);
}

TEST_F(SessionWatchTest, poll__a_pending_lane_is_polled_by_time_until_it_stands) {
  ASSERT_TRUE(reactor_.start().ok());
  std::promise<std::pair<int, int>> seen;
  int polls = 0;
  reactor_.run_soon([&] {
    session_->begin_lane(0, {}, std::make_unique<PendingQuietLane>(line_, polls, 5), false);
    watch_->poll();
    reactor_.at(now() + kSoon, [&] { seen.set_value({polls, session_->open_lanes()}); });
  });
  EXPECT_EQ(seen.get_future().get(), std::pair(5, 1));
}

}  // namespace
}  // namespace railweave::engine
