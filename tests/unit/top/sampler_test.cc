#include "top/sampler.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "engine/stats/stats_server.h"

namespace railweave::top {
namespace {

using engine::StatsServer;

constexpr char kInstance[] = "0123456789abcdef0123456789abcdef";

// An engine of this process with one lane.
class SamplerTest : public testing::Test {
 protected:
  SamplerTest() {
    std::string name = "/tmp/rw-top-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name.data()));
    dir_ = name;
    auto server = StatsServer::open(dir_, kInstance);
    EXPECT_TRUE(server.ok());
    server_ = std::move(*server);
    thread_ = std::thread([this] { serve(); });
  }
  ~SamplerTest() override {
    ended_ = true;
    thread_.join();
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  void serve() {
    while (!ended_) {
      pollfd waiting{server_->descriptor(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) == 1 && answers_) (void)server_->serve([this] { return stats(); });
    }
  }
  EngineStats stats() const {
    LaneStats lane;
    lane.rail = "eth0";
    lane.bytes_sent = sent_;
    SessionStats session;
    session.lanes = {lane};
    session.sends_pending = 2;
    EngineStats all;
    all.sessions = {session};
    return all;
  }

  std::string dir_;
  std::atomic<bool> ended_ = false, answers_ = true;
  std::atomic<std::uint64_t> sent_ = 5000;
  std::unique_ptr<StatsServer> server_;
  std::thread thread_;
};

TEST_F(SamplerTest, compares_a_sample_with_the_one_before) {
  Sampler sampler(dir_, 0);
  const auto first = sampler.sample();
  ASSERT_EQ(1u, first.size());
  EXPECT_EQ("", first[0].no_answer);
  EXPECT_EQ(Nanos(0), first[0].since);
  EXPECT_EQ(0, first[0].rails[0].sending.bytes_per_s);
  sent_ += 1000;
  const auto second = sampler.sample();
  EXPECT_GT(second[0].since, Nanos(0));
  EXPECT_NEAR(1000, second[0].rails[0].sending.bytes_in(second[0].since), 1e-3);
  EXPECT_EQ(2u, second[0].pending);
}

TEST_F(SamplerTest, takes_only_the_process_that_was_asked_for) {
  EXPECT_EQ(1u, Sampler(dir_, ::getpid()).sample().size());
  EXPECT_EQ(0u, Sampler(dir_, 1).sample().size());
}

TEST_F(SamplerTest, says_why_an_engine_did_not_answer) {
  answers_ = false;
  const auto views = Sampler(dir_, 0).sample();
  ASSERT_EQ(1u, views.size());
  EXPECT_NE("", views[0].no_answer);
  answers_ = true;
}

// A stopped process takes no client: clients that have left fill its queue.
TEST_F(SamplerTest, keeps_an_engine_that_takes_no_client) {
  answers_ = false;
  Sampler sampler(dir_, ::getpid());
  for (int frame = 0; frame < 12; ++frame) {
    const auto views = sampler.sample();
    ASSERT_EQ(1u, views.size()) << "frame " << frame;
    EXPECT_NE(std::string::npos, views[0].no_answer.find("is the process stopped?")) << views[0].no_answer;
    EXPECT_EQ("unit_top", views[0].engine.command);
  }
  const auto found = info::engines_of(dir_, ::getpid());
  EXPECT_TRUE(found.ok()) << found.status().message();
  answers_ = true;
}

}  // namespace
}  // namespace railweave::top
