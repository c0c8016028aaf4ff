// Engines that encrypt (docs/operate/encryption.md): messages arrive, an eavesdropper sees no payload, and altered
// bytes cost a lane but no data.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "between.h"
#include "key_file.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using namespace std::chrono_literals;

Config with_key(const KeyFile& file, bool encrypt, bool shm = false) {
  Config config = loopback();
  config.family = AddressFamily::v4;
  config.key_file = file.path();
  config.encrypt = encrypt;
  config.shm = shm;
  return config;
}

void transfers_both_ways(Ends& there, Ends& back) {
  for (const std::size_t size : {0u, 1u, 100u, 16383u, 65536u, 65537u, 3'000'000u}) {
    EXPECT_TRUE(transfer(there, size, 1)) << size;
    EXPECT_TRUE(transfer(back, size, 2)) << size;
  }
}

TEST(Encryption, messages_of_all_sizes_go_both_ways_over_many_lanes) {
  const KeyFile file;
  LogCapture log;
  Config config = with_key(file, true);
  config.lanes_per_rail = 4;
  config.zerocopy_threshold_bytes = 4096;  // without effect: encrypted lanes do not use zero copy
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  Ends there = join(*a, *b), back = join(*b, *a);
  ASSERT_TRUE(there && back);
  transfers_both_ways(there, back);
  EXPECT_TRUE(eventually([&] { return a->stats().sessions[0].lanes.size() == 4; }));
  transfers_both_ways(there, back);
  EXPECT_EQ(a->stats().sessions.size(), 1u);
  EXPECT_TRUE(log.warnings().empty()) << log.all();
}

TEST(Encryption, an_instance_reaches_itself) {
  const KeyFile file;
  const auto a = start_engine(with_key(file, true));
  ASSERT_TRUE(a);
  Ends ends = join(*a, *a);
  ASSERT_TRUE(ends);
  EXPECT_TRUE(transfer(ends, 1'000'000, 1));
}

TEST(Encryption, shared_memory_stays_in_use) {
  const KeyFile file;
  const auto a = start_engine(with_key(file, true, true)), b = start_engine(with_key(file, true, true));
  ASSERT_TRUE(a && b);
  Ends there = join(*a, *b), back = join(*b, *a);
  ASSERT_TRUE(there && back);
  transfers_both_ways(there, back);
  EXPECT_EQ(a->stats().sessions[0].lanes[0].rail, "shm");
}

// The connect fails without a second round of dials and without waiting for the connect timeout.
TEST(Encryption, encryption_at_one_end_is_reported_at_both_ends_at_once) {
  const KeyFile file;
  const char* const alone = "the peer does not encrypt, we do (RAILWEAVE_ENCRYPT)";
  const char* const other = "the peer encrypts (RAILWEAVE_ENCRYPT), we do not";
  for (const bool shm : {false, true}) {
    for (const bool dialler_does : {true, false}) {
      SCOPED_TRACE(std::string(shm ? "shm, " : "") + (dialler_does ? "the dialler does" : "the acceptor does"));
      LogCapture log;
      const auto a = start_engine(with_key(file, dialler_does, shm)),
                 b = start_engine(with_key(file, !dialler_does, shm));
      ASSERT_TRUE(a && b);
      Handle handle;
      auto listener = b->listen(0, handle);
      ASSERT_TRUE(listener.ok());
      const TimePoint begin = now();
      auto connector = a->connect(0, handle);
      ASSERT_TRUE(connector.ok());
      Status failed;
      EXPECT_TRUE(eventually([&] { return failed = (*connector)->poll().status(), !failed.ok(); }, deadline(5s)));
      EXPECT_LT(now() - begin, sooner_than_waiting(2s));
      EXPECT_EQ(failed.code(), Code::remote);
      EXPECT_NE(failed.message().find(dialler_does ? alone : other), std::string::npos) << failed.message();
      EXPECT_TRUE(eventually([&] { return !log.warnings().empty(); }, deadline(2s)));
      EXPECT_NE(log.all().find(dialler_does ? other : alone), std::string::npos) << log.all();
      EXPECT_TRUE(a->stats().sessions.empty() && b->stats().sessions.empty());
    }
  }
}

TEST(Encryption, no_engine_starts_without_a_key) {
  Config config = loopback();
  config.encrypt = true;
  const auto engine = Engine::start(config);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), Code::invalid_config);
  EXPECT_EQ(engine.status().message(),
            "RAILWEAVE_ENCRYPT is on, RAILWEAVE_KEY_FILE is empty, expected the file of a key to encrypt by");
}

// Returns true if `heard` contains 16 bytes of `payload`, taken from any multiple of 256.
bool holds_some_of(const Bytes& heard, const Bytes& payload) {
  for (std::size_t at = 0; at + 16 <= payload.size(); at += 256) {
    if (memmem(heard.data(), heard.size(), payload.data() + at, 16)) return true;
  }
  return false;
}

// The connection passes through a Between. Without encryption the Between sees the payload, so the check works.
TEST(Encryption, an_eavesdropper_sees_nothing_of_a_payload) {
  const KeyFile file;
  for (const bool encrypt : {false, true}) {
    const auto a = start_engine(with_key(file, encrypt)), b = start_engine(with_key(file, encrypt));
    ASSERT_TRUE(a && b);
    Handle handle;
    auto listener = b->listen(0, handle);
    ASSERT_TRUE(listener.ok());
    const Between between(handle);
    auto connector = a->connect(0, between.handle());
    ASSERT_TRUE(connector.ok());
    Ends ends = meet(**connector, **listener);
    ASSERT_TRUE(ends);
    for (const std::size_t size : {2000u, 70'000u}) {
      ASSERT_TRUE(transfer(ends, size, 5));
      const Bytes heard = between.said_by_dialler();
      EXPECT_GT(heard.size(), size);
      EXPECT_EQ(holds_some_of(heard, pattern(size, 5)), !encrypt) << size;
    }
  }
}

// The lane is closed, and its data is sent again on a lane that is dialled anew.
TEST(Encryption, bytes_altered_on_their_way_cost_a_lane_and_no_data) {
  const KeyFile file;
  for (const std::size_t place : {5'000u, 60'000u, 500'000u}) {
    SCOPED_TRACE(place);
    LogCapture log;
    const auto a = start_engine(with_key(file, true)), b = start_engine(with_key(file, true));
    ASSERT_TRUE(a && b);
    Handle handle;
    auto listener = b->listen(0, handle);
    ASSERT_TRUE(listener.ok());
    std::atomic<bool> altered{false};
    const Between between(handle, [&, place](bool from_dialler, std::size_t at, std::span<std::byte> bytes) {
      if (!from_dialler || altered || place < at || place >= at + bytes.size()) return;
      bytes[place - at] ^= std::byte{1};
      altered = true;
    });
    auto connector = a->connect(0, between.handle());
    ASSERT_TRUE(connector.ok());
    Ends ends = meet(**connector, **listener);
    ASSERT_TRUE(ends);
    for (unsigned seed = 0; seed < 20; ++seed) ASSERT_TRUE(transfer(ends, 100'000, seed)) << seed;
    EXPECT_TRUE(altered);
    EXPECT_EQ(b->stats().sessions.size(), 1u);
    const EngineStats stats = a->stats();
    for (const LaneStats& lane : stats.sessions.at(0).lanes)
      EXPECT_EQ(lane.damaged_frames, 0u) << "nothing that came to it was altered";
    EXPECT_NE(log.all().find("TLS: "), std::string::npos) << log.all();
  }
}

}  // namespace
}  // namespace railweave::engine_test
