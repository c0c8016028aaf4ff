// RAILWEAVE_CHECKSUM: a proxy between two engines alters bytes, and no caller ever sees an altered byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "between.h"
#include "protocol/frame.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

constexpr std::byte kFill{0x5A}, kWrong{0xA5};

Config checked(bool on) {
  Config config = loopback();
  config.family = AddressFamily::v4;
  config.checksum = on;
  return config;
}

// Alters, once, one byte of the first run of payload (kFill) in one direction, after the first `from` bytes.
class OneWrongByte {
 public:
  explicit OneWrongByte(bool from_dialler, std::size_t from = 0) : from_dialler_(from_dialler), from_(from) {}

  Between::Alter alter() {
    return [this](bool from_dialler, std::size_t at, std::span<std::byte> bytes) {
      if (from_dialler != from_dialler_ || at < from_ || done_) return;
      constexpr std::size_t kRun = 64;
      const auto run = std::search_n(bytes.begin(), bytes.end(), kRun, kFill);
      if (run == bytes.end()) return;
      run[kRun / 2] = kWrong;
      done_ = true;
    };
  }
  bool done() const { return done_; }

 private:
  const bool from_dialler_;
  const std::size_t from_;
  std::atomic<bool> done_{false};
};

// Two engines. Their first lane passes through `between`, later lanes do not. `there` sends from the dialler, `back` to
// the dialler.
struct Pair {
  std::shared_ptr<Engine> dialler, acceptor;
  std::unique_ptr<Between> between;
  Ends there, back;
  explicit operator bool() const { return there && back; }
};

Pair meet_through(const Config& dialler, const Config& acceptor, Between::Alter alter) {
  Pair pair{start_engine(dialler), start_engine(acceptor), {}, {}, {}};
  if (!pair.dialler || !pair.acceptor) return pair;
  Handle handle;
  auto listener = pair.acceptor->listen(0, handle);
  if (!listener.ok()) return pair;
  pair.between = std::make_unique<Between>(handle, std::move(alter));
  auto connector = pair.dialler->connect(0, pair.between->handle());
  if (!connector.ok()) return pair;
  pair.there = meet(**connector, **listener);
  pair.back = join(*pair.acceptor, *pair.dialler);
  return pair;
}

std::uint64_t damaged(const Engine& engine) {
  std::uint64_t sum = 0;
  for (const SessionStats& session : engine.stats().sessions)
    for (const LaneStats& lane : session.lanes) sum += lane.damaged_frames;
  return sum;
}

std::size_t open_lanes(const Engine& engine) {
  const EngineStats stats = engine.stats();
  return stats.sessions.size() != 1
             ? 0
             : std::size_t(std::ranges::count(stats.sessions[0].lanes, false, &LaneStats::closed));
}

// Sends `size` bytes of kFill. Returns true if all arrive intact. With `read_while_landing` the receiver's memory must
// not hold the wrong byte at any time before, either.
bool send_fill(Ends& ends, std::size_t size, bool read_while_landing) {
  const std::vector<std::byte> data(size, kFill);
  std::vector<std::byte> place(size);
  auto receive = ends.recv->post(place.data(), size, read_while_landing ? Reading::while_landing : Reading::when_done);
  if (!receive.ok()) return ADD_FAILURE() << receive.status().message(), false;
  Request* const send = post_send(*ends.send, data);
  bool wrong = false, sent = false, received = false;
  Status failed;
  const bool ended = eventually([&] {
    if (!received) {
      auto progress = ends.recv->test(*receive);
      if (!progress.ok()) return failed = progress.status(), true;
      received = progress->done;
    }
    if (!sent) {
      auto progress = ends.send->test(send);
      if (!progress.ok()) return failed = progress.status(), true;
      sent = progress->done;
    }
    for (std::size_t i = 0; read_while_landing && i < size; i += 1)  // a GPU may read all of it at any time
      wrong |= __atomic_load_n(reinterpret_cast<unsigned char*>(&place[i]), __ATOMIC_RELAXED) ==
               std::to_integer<unsigned char>(kWrong);
    return sent && received;
  });
  EXPECT_TRUE(failed.ok()) << failed.message();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(wrong) << "seen while it landed";
  EXPECT_TRUE(place == data);
  return ended && failed.ok() && !wrong && place == data;
}

void goes_again(bool from_dialler, std::size_t size, bool read_while_landing, bool receiver_checks) {
  SCOPED_TRACE(std::string(from_dialler ? "from the dialler, " : "from the acceptor, ") + std::to_string(size) +
               (read_while_landing ? " read_while_landing" : ""));
  LogCapture log;
  OneWrongByte wrong(from_dialler);
  Pair pair =
      meet_through(checked(from_dialler || receiver_checks), checked(!from_dialler || receiver_checks), wrong.alter());
  ASSERT_TRUE(pair);
  Ends& ends = from_dialler ? pair.there : pair.back;
  Engine& receiver = from_dialler ? *pair.acceptor : *pair.dialler;
  Engine& sender = from_dialler ? *pair.dialler : *pair.acceptor;
  ASSERT_TRUE(send_fill(ends, size, read_while_landing));
  EXPECT_TRUE(wrong.done());
  EXPECT_EQ(damaged(receiver), 1u);
  EXPECT_EQ(damaged(sender), 0u);
  EXPECT_TRUE(eventually([&] { return open_lanes(sender) == 1 && open_lanes(receiver) == 1; })) << "it is back";
  EXPECT_TRUE(transfer(pair.there, 1 << 20, 1) && transfer(pair.back, 1 << 20, 2));
  const auto warnings = log.warnings();
  ASSERT_EQ(warnings.size(), 1u) << log.all();
  EXPECT_NE(warnings[0].find("on rail lo given up: wrong bytes: SEGMENT of stream "), std::string::npos) << warnings[0];
}

TEST(Checksum, a_wrong_byte_on_the_only_lane_is_sent_again) {
  for (const bool from_dialler : {true, false})
    for (const std::size_t size : {200u, 60'000u, 2u << 20})
      for (const bool read_while_landing : {false, true}) goes_again(from_dialler, size, read_while_landing, true);
}

TEST(Checksum, the_senders_setting_counts) {
  for (const bool from_dialler : {true, false}) goes_again(from_dialler, 4 << 20, false, false);
}

// Shows that the wrong byte of the tests above takes effect.
TEST(Checksum, a_wrong_byte_arrives_where_the_sender_has_it_off) {
  OneWrongByte wrong(true);
  Pair pair = meet_through(checked(false), checked(true), wrong.alter());
  ASSERT_TRUE(pair);
  const std::vector<std::byte> data(1 << 20, kFill);
  std::vector<std::byte> place(data.size());
  Request* const receive = post_recv(*pair.there.recv, place);
  Request* const send = post_send(*pair.there.send, data);
  bool sent = false;
  ASSERT_TRUE(eventually([&] {
    sent = sent || pair.there.send->test(send)->done;
    return pair.there.recv->test(receive)->done;
  }));
  EXPECT_TRUE(sent || finish(*pair.there.send, send).ok());
  EXPECT_EQ(std::ranges::count(place, kWrong), 1);
  EXPECT_EQ(damaged(*pair.acceptor), 0u);
}

// With checksums on, an altered header counts as damage, too: here the header of an ack or of a grant.
TEST(Checksum, an_altered_header_counts_as_damage) {
  for (const bool from_dialler : {true, false}) {
    LogCapture log;
    std::atomic<bool> begun{false}, done{false};
    Pair pair = meet_through(checked(true), checked(true), [&](bool from, std::size_t, std::span<std::byte> bytes) {
      if (from == from_dialler || !begun || done) return;
      for (std::size_t at = 0; at + protocol::kFrameHeaderBytes <= bytes.size() && !done; ++at) {
        if (!protocol::arrived_whole(protocol::ConstHeaderBytes(&bytes[at], protocol::kFrameHeaderBytes))) continue;
        bytes[at + 45] ^= std::byte{0x10};
        done = true;
      }
    });
    ASSERT_TRUE(pair);
    begun = true;
    ASSERT_TRUE(send_fill(from_dialler ? pair.there : pair.back, 4 << 20, false));
    ASSERT_TRUE(eventually([&] { return bool(done); }));
    EXPECT_TRUE(eventually([&] { return damaged(from_dialler ? *pair.dialler : *pair.acceptor) == 1; }));
    EXPECT_TRUE(eventually([&] { return open_lanes(*pair.dialler) == 1 && open_lanes(*pair.acceptor) == 1; }));
    EXPECT_TRUE(transfer(pair.there, 1 << 20, 1) && transfer(pair.back, 1 << 20, 2));
    EXPECT_EQ(log.warnings().size(), 1u) << log.all();
  }
}

// The caller uses the memory for something else by then: the engine neither checks nor writes the segment, and counts
// no damaged frame.
TEST(Checksum, a_damaged_segment_of_withdrawn_memory_is_discarded) {
  for (const bool read_while_landing : {false, true}) {
    constexpr std::size_t kSize = 4 << 20, kHeldAt = 100'000;
    std::atomic<bool> held{false}, go_on{false}, stop{false};
    OneWrongByte wrong(true, kHeldAt);
    Pair pair = meet_through(checked(true), checked(true),
                             [&, alter = wrong.alter()](bool from, std::size_t at, std::span<std::byte> bytes) {
                               alter(from, at, bytes);
                               if (!wrong.done() || held) return;
                               held = true;  // holds back the wrong byte and the rest of its segment
                               while (!go_on && !stop) std::this_thread::sleep_for(1ms);
                             });
    struct Let {
      std::atomic<bool>& go;
      ~Let() { go = true; }
    } let{stop};
    ASSERT_TRUE(pair);
    Ends other = join(*pair.dialler, *pair.acceptor);
    ASSERT_TRUE(other);
    const std::vector<std::byte> data(kSize, kFill);
    std::vector<std::byte> place(kSize);
    auto receive =
        pair.there.recv->post(place.data(), kSize, read_while_landing ? Reading::while_landing : Reading::when_done);
    ASSERT_TRUE(receive.ok());
    Request* const send = post_send(*pair.there.send, data);
    ASSERT_TRUE(eventually([&] {
      (void)pair.there.send->test(send);
      (void)pair.there.recv->test(*receive);
      return bool(held);
    }));
    for (int i = 0; i < 100; ++i) (void)pair.there.recv->test(*receive);  // reads the first part of that segment
    pair.there.recv->withdraw(place.data(), place.size());
    std::ranges::fill(place, std::byte{0x77});
    go_on = true;
    EXPECT_TRUE(transfer(other, 1 << 20, 3));
    EXPECT_EQ(std::ranges::count(place, std::byte{0x77}), std::ptrdiff_t(kSize));
    EXPECT_EQ(damaged(*pair.acceptor), 0u);
    EXPECT_FALSE(finish(*pair.there.recv, *receive).ok());
    EXPECT_FALSE(finish(*pair.there.send, send).ok());
  }
}

}  // namespace
}  // namespace railweave::engine_test
