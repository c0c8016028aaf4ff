// ShmLane beyond the contract suite: system calls, sleep, the proof, peers that write nonsense or die.
#include "wire/shm/lane.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/abstract_socket.h"
#include "base/clock.h"
#include "base/local_socket.h"
#include "tests/unit/wire/counting_handler.h"
#include "tests/unit/wire/shm_pair.h"

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

class ShmLaneTest : public ::testing::Test {
 protected:
  // Sends frames of `sizes` at `from` and reads them at `to`. Asserts that all arrive.
  void carry(Lane& from, CountingHandler& sends, Lane& to, CountingHandler& gets, std::deque<std::size_t> sizes) {
    const std::size_t due = gets.arrived + sizes.size();
    sends.to_send = std::move(sizes);
    for (int i = 0; i < 1000 && gets.arrived < due; ++i) {
      ASSERT_TRUE(from.write(sends).ok());
      const auto moved = to.read(gets, 1 * MiB);
      ASSERT_TRUE(moved.ok()) << moved.status().message();
    }
    ASSERT_EQ(gets.arrived, due);
  }

  bool awake(const Lane& lane) {
    pollfd p{lane.descriptor(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  }

  // Reads for a second at most, until an error, and returns the error.
  Status read_error(Lane& lane, CountingHandler& handler) {
    for (const TimePoint until = now() + 1s; now() < until;)
      if (auto moved = lane.read(handler, 1 * MiB); !moved.ok()) return moved.status();
    return {};
  }

  CountingHandler a, b;
};

TEST_F(ShmLaneTest, a_large_payload_is_fetched_and_a_small_one_is_not) {
  ShmPair pair({.one_copy = shm::OneCopy::always});
  EXPECT_LE(pair.far->stats().read_calls, 1u) << "the proof";
  carry(*pair.near, a, *pair.far, b, {256 * KiB, 256 * KiB, 8, 16 * KiB});
  EXPECT_EQ(pair.far->stats().read_calls, 3u);
  EXPECT_EQ(pair.far->stats().bytes_received, 512 * KiB + 8 + 16 * KiB);
}

TEST_F(ShmLaneTest, a_copying_lane_fetches_nothing) {
  ShmPair pair({.one_copy = shm::OneCopy::never});
  carry(*pair.near, a, *pair.far, b, {1 * MiB, 256 * KiB, 8});
  EXPECT_EQ(pair.far->stats().read_calls, 0u);
}

TEST_F(ShmLaneTest, pollers_make_no_system_call_per_message) {
  ShmPair pair({.one_copy = shm::OneCopy::always});
  for (int i = 0; i < 100; ++i) {
    carry(*pair.near, a, *pair.far, b, {8});
    carry(*pair.far, b, *pair.near, a, {8});
  }
  EXPECT_LE(pair.near->stats().read_calls + pair.near->stats().write_calls, 1u);
}

TEST_F(ShmLaneTest, a_sleeper_is_woken_once_per_sleep) {
  ShmPair pair({.one_copy = shm::OneCopy::always});
  ASSERT_EQ(pair.far->prepare_to_wait(false), POLLIN);
  EXPECT_FALSE(awake(*pair.far));
  for (int i = 0; i < 3; ++i) {
    a.to_send = {8};
    ASSERT_TRUE(pair.near->write(a).ok());
    EXPECT_TRUE(awake(*pair.far));
  }
  EXPECT_EQ(pair.near->stats().write_calls, 1u);
  EXPECT_EQ(pair.far->prepare_to_wait(false), 0) << "there is something to read";
  ASSERT_TRUE(pair.far->read(b, 1 * MiB).ok());
  EXPECT_EQ(b.arrived, 3u);
  EXPECT_FALSE(awake(*pair.far));
  EXPECT_EQ(pair.far->prepare_to_wait(false), POLLIN);
}

TEST_F(ShmLaneTest, a_stuck_writer_is_woken_by_room) {
  for (const auto one_copy : {shm::OneCopy::always, shm::OneCopy::never}) {
    ShmPair pair({.one_copy = one_copy});
    a.to_send = std::deque<std::size_t>(64, 256 * KiB);
    while (!pair.near->write(a)->blocked) {
    }
    ASSERT_EQ(pair.near->prepare_to_wait(true), POLLIN);
    EXPECT_FALSE(awake(*pair.near));
    ASSERT_TRUE(pair.far->read(b, 300 * KiB).ok());
    EXPECT_TRUE(awake(*pair.near));
    EXPECT_GT(pair.near->write(a)->bytes, 0u);
  }
}

TEST_F(ShmLaneTest, the_end_wakes_a_sleeper) {
  ShmPair pair({.one_copy = shm::OneCopy::always});
  ASSERT_EQ(pair.far->prepare_to_wait(false), POLLIN);
  ASSERT_TRUE(pair.near->finish_writing().ok());
  EXPECT_TRUE(awake(*pair.far));
  EXPECT_EQ(pair.far->prepare_to_wait(false), 0);
  EXPECT_EQ(read_error(*pair.far, b).code(), Code::remote);
  ASSERT_EQ(pair.near->prepare_to_wait(false), POLLIN);
  pair.far.reset();
  EXPECT_TRUE(awake(*pair.near));
  EXPECT_EQ(read_error(*pair.near, a).code(), Code::remote);
}

// Sends `count` frames whose payload is the same memory.
class OnePlace final : public LaneHandler {
 public:
  OnePlace(std::span<std::byte> memory, int count) : memory_(memory), left_(count) {}
  std::size_t freed = 0;

  std::size_t next_frames(std::span<OutFrame> frames) override {
    if (left_ == 0) return 0;
    --left_;
    const auto size = std::uint32_t(memory_.size());
    std::memcpy(frames[0].header.data(), &size, sizeof size);
    frames[0].payload = memory_;
    return 1;
  }
  void written(std::size_t) override {}
  void released(std::size_t n) override { freed += n; }
  Result<Target> header(std::span<const std::byte, kHeaderBytes>) override { return Target{}; }
  Status consumed(std::span<const std::byte, kHeaderBytes>) override { return Status(); }

 private:
  const std::span<std::byte> memory_;
  int left_;
};

// x86 and Arm processors let a process read its own write-only pages. The kernel does not let other processes.
TEST_F(ShmLaneTest, what_the_peer_cannot_read_is_copied_for_it) {
  constexpr std::size_t kBytes = 256 * KiB;
  void* const pages = ::mmap(nullptr, kBytes, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ShmPair pair({.one_copy = shm::OneCopy::always});
  OnePlace sends({static_cast<std::byte*>(pages), kBytes}, 3);
  ASSERT_EQ(pair.near->write(sends)->bytes, 3 * (kBytes + kHeaderBytes));
  ASSERT_EQ(pair.near->prepare_to_wait(false), POLLIN);
  ASSERT_TRUE(pair.far->read(b, 4 * MiB).ok());
  EXPECT_EQ(b.arrived, 0u);
  EXPECT_TRUE(awake(*pair.near)) << "asked to copy";
  ASSERT_EQ(pair.far->prepare_to_wait(false), POLLIN);
  for (int i = 0; i < 20 && b.arrived < 3; ++i) {
    ASSERT_TRUE(pair.near->read(sends, 1 * MiB).ok());
    EXPECT_TRUE(i > 0 || awake(*pair.far)) << "the copy is there";
    const auto moved = pair.far->read(b, 4 * MiB);
    ASSERT_TRUE(moved.ok()) << moved.status().message();
  }
  EXPECT_EQ(b.arrived, 3u);
  ASSERT_TRUE(pair.near->read(sends, 1 * MiB).ok());
  EXPECT_EQ(sends.freed, 3u);
  const auto fetches = pair.far->stats().read_calls;
  carry(*pair.near, a, *pair.far, b, {256 * KiB});
  EXPECT_EQ(pair.far->stats().read_calls, fetches) << "from then on all goes inline";
  ::munmap(pages, kBytes);
}

TEST_F(ShmLaneTest, a_lane_that_finished_writing_still_copies) {
  constexpr std::size_t kBytes = 64 * KiB;
  void* const pages = ::mmap(nullptr, kBytes, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ShmPair pair({.one_copy = shm::OneCopy::always});
  OnePlace sends({static_cast<std::byte*>(pages), kBytes}, 1);
  ASSERT_TRUE(pair.near->write(sends).ok());
  ASSERT_TRUE(pair.near->finish_writing().ok());
  for (int i = 0; i < 3; ++i) {
    const auto moved = pair.far->read(b, 4 * MiB);
    ASSERT_TRUE(moved.ok()) << moved.status().message();
  }
  EXPECT_EQ(b.arrived, 0u);
  EXPECT_EQ(pair.far->prepare_to_wait(false), POLLIN);
  ASSERT_TRUE(pair.near->read(sends, 1 * MiB).ok());
  ASSERT_TRUE(pair.far->read(b, 4 * MiB).ok());
  EXPECT_EQ(b.arrived, 1u);
  EXPECT_FALSE(pair.far->read(b, 4 * MiB).ok());
  ::munmap(pages, kBytes);
}

TEST_F(ShmLaneTest, a_peer_that_writes_nonsense_loses_the_lane) {
  const auto expect_malformed = [&](const std::function<void(ShmPair&)>& lie, bool reading) {
    ShmPair pair({.one_copy = shm::OneCopy::always});
    a = {};
    b = {};
    a.to_send = {256 * KiB, 100};
    ASSERT_TRUE(pair.near->write(a).ok());
    lie(pair);
    const Status status = reading ? pair.far->read(b, 4 * MiB).status() : pair.near->read(a, 4 * MiB).status();
    EXPECT_EQ(status.code(), Code::remote);
    EXPECT_NE(status.message().find("malformed ring"), std::string::npos) << status.message();
  };
  const auto start = [](ShmPair& pair) { return reinterpret_cast<shm::RecordStart*>(pair.spy.ring(0)); };
  expect_malformed([](ShmPair& pair) { pair.spy.direction(0).head = shm::kRingBytes + 8; }, true);
  expect_malformed([](ShmPair& pair) { pair.spy.direction(0).head = 71; }, true);
  expect_malformed([&](ShmPair& pair) { start(pair)->payload_bytes = 7; }, true);
  expect_malformed([&](ShmPair& pair) { start(pair)->offered = 2; }, true);
  expect_malformed([](ShmPair& pair) { pair.spy.direction(0).fetched = 2; }, false);
}

TEST_F(ShmLaneTest, an_invalid_address_loses_the_lane) {
  ShmPair pair({.one_copy = shm::OneCopy::always});
  a.to_send = {256 * KiB};
  ASSERT_TRUE(pair.near->write(a).ok());
  pair.spy.direction(0).slots[0] = 4096;
  EXPECT_EQ(pair.far->read(b, 4 * MiB)->bytes, kHeaderBytes) << "asks for a copy";
  pair.spy.direction(0).slots[0] = 4096;
  EXPECT_EQ(pair.far->read(b, 4 * MiB).status().system_errno(), EFAULT);
}

TEST_F(ShmLaneTest, only_sealed_objects_of_the_right_size_are_mapped) {
  auto good = shm::SharedObject::make();
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(shm::SharedObject::adopt(OwnedFd(::dup(good->fd()))).ok());
  OwnedFd unsealed(::memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), ::lseek(good->fd(), 0, SEEK_END)), 0);
  EXPECT_EQ(shm::SharedObject::adopt(std::move(unsealed)).status().code(), Code::remote);
  OwnedFd small(::memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  ASSERT_EQ(::fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(shm::SharedObject::adopt(std::move(small)).status().code(), Code::remote);
  EXPECT_EQ(shm::SharedObject::adopt(OwnedFd(::open("/dev/null", O_RDWR | O_CLOEXEC))).status().code(), Code::remote);
}

// A child dials the test, passes its object and offers payload. The test reads a part and kills the child.
TEST_F(ShmLaneTest, a_peer_killed_inside_a_frame_is_seen_at_once) {
  const std::string name = "railweave-test-" + std::to_string(::getpid());
  auto listener = listen_abstract(name);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  const pid_t child = ::fork();
  if (child == 0) {
    auto object = shm::SharedObject::make();
    auto socket = dial_abstract(name);
    const std::byte hello{7};
    if (!object.ok() || !socket.ok() || send_with_fd(socket->get(), {&hello, 1}, object->fd()) != 1) ::_exit(1);
    ShmLane lane(std::move(*socket), std::move(*object), ShmLane::End::maker);
    a.to_send = std::deque<std::size_t>(64, 256 * KiB);
    for (;;) {
      if (!lane.write(a).ok() || !lane.read(a, 1 * MiB).ok()) ::_exit(2);
      ::usleep(100);
    }
  }
  pollfd p{listener->get(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 5000), 1);
  auto socket = accept_local(listener->get());
  ASSERT_TRUE(socket.ok() && *socket);
  EXPECT_TRUE(check_same_user(socket->get()).ok());
  p.fd = socket->get();
  ASSERT_EQ(::poll(&p, 1, 5000), 1);
  OwnedFd passed;
  std::byte hello{};
  ASSERT_EQ(recv_with_fd(socket->get(), {&hello, 1}, passed), 1);
  auto object = shm::SharedObject::adopt(std::move(passed));
  ASSERT_TRUE(object.ok()) << object.status().message();
  ShmLane lane(std::move(*socket), std::move(*object), ShmLane::End::taker, {.one_copy = shm::OneCopy::always});
  // Reads until payload, and not only the proof, was fetched from the child.
  for (const TimePoint until = now() + 10s; lane.stats().read_calls < 3 && now() < until;)
    ASSERT_TRUE(lane.read(b, 100 * KiB).ok());
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit " << WEXITSTATUS(status);
  EXPECT_EQ(read_error(lane, b).code(), Code::remote);
  EXPECT_GE(lane.stats().read_calls, 3u);
  EXPECT_LT(b.arrived, 64u);
}

}  // namespace
}  // namespace railweave::wire
