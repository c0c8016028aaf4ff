// Lanes of every wire: no access to memory after withdraw_payload(), withdraw_target() or released().
#include <sys/mman.h>

#include "tests/contract/lane_contract.h"

namespace railweave::wire::contract {
namespace {

// Memory that take_away() makes inaccessible: any later access kills the test.
class Pages {
 public:
  explicit Pages(std::size_t size)
      : size_(size),
        data_(static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~Pages() { ::munmap(data_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::span<std::byte> all() const { return {data_, size_}; }
  void take_away() { ASSERT_EQ(::mprotect(data_, size_, PROT_NONE), 0); }

 private:
  const std::size_t size_;
  std::byte* const data_;
};

class LaneMemory : public LaneContract {
 protected:
  // Reads at `far` in small pieces until it is inside the next frame's payload.
  void read_into_payload() {
    for (int i = 0; i < 10'000 && !far.inside_payload(); ++i)
      if (far.read(100) == 0) pair.pass_time();
    ASSERT_TRUE(far.inside_payload());
    far.read(1000);
  }
};

TEST_P(LaneMemory, withdraw_while_a_send_is_stuck) {
  constexpr std::size_t kFrame = 1 * MiB, kFrames = 16;
  Pages pages(kFrame * kFrames);
  for (std::size_t i = 0; i < kFrames; ++i) {
    const FrameName name = near.queue_from(pages.all().subspan(i * kFrame, kFrame));
    far.expect(name);
  }
  write_until_stuck(near);
  ASSERT_LT(near.handed, kFrames);
  // Frames that the lane took arrive intact though their memory is gone. The lane takes no more frames.
  if (!pair.near->withdraw_payload(pages.all())) GTEST_SKIP() << "the kernel holds it: this lane is to be closed";
  pages.take_away();
  near.frames_per_ask = 0;
  turn_until([&] { return far.arrived == near.taken && near.freed == near.taken; });
}

TEST_P(LaneMemory, withdraw_of_a_send_that_is_half_read) {
  constexpr std::size_t kFrame = 300'000;
  Pages pages(kFrame);
  far.expect(near.queue_from(pages.all().first(kFrame)));
  send(near, far, 5000);
  for (int i = 0; i < 50 && near.write() > 0; ++i) pair.pass_time();
  read_into_payload();
  if (!pair.near->withdraw_payload(pages.all())) GTEST_SKIP() << "the kernel holds it: this lane is to be closed";
  pages.take_away();
  finish();
  EXPECT_EQ(far.arrived, 2u);
}

TEST_P(LaneMemory, withdraw_of_other_memory_changes_nothing) {
  Pages other(4096);
  for (int i = 0; i < 16; ++i) send(near, far, 1 * MiB);
  write_until_stuck(near);
  EXPECT_TRUE(pair.near->withdraw_payload(other.all()));
  pair.far->withdraw_target(other.all());
  finish();
}

TEST_P(LaneMemory, withdraw_in_the_middle_of_a_receive) {
  constexpr std::size_t kFrame = 300'000;
  Pages pages(kFrame);
  far.expect_lost(near.queue(kFrame), pages.all().first(kFrame));
  send(near, far, 5000);
  for (int i = 0; i < 50 && near.write() > 0; ++i) pair.pass_time();
  read_into_payload();
  pair.far->withdraw_target(pages.all());
  pages.take_away();
  finish();
  EXPECT_EQ(far.arrived, 2u);
}

TEST_P(LaneMemory, withdraw_of_a_part_of_a_receive) {
  constexpr std::size_t kFrame = 300'000;
  Pages pages(kFrame);
  far.expect_lost(near.queue(kFrame), pages.all().first(kFrame));
  send(near, far, 5000);
  for (int i = 0; i < 50 && near.write() > 0; ++i) pair.pass_time();
  read_into_payload();
  pair.far->withdraw_target(pages.all().last(1));
  pages.take_away();
  finish();
}

TEST_P(LaneMemory, a_lane_that_has_ended_touches_no_memory) {
  constexpr std::size_t kFrame = 1 * MiB, kFrames = 16;
  Pages sent(kFrame * kFrames), received(kFrame);
  for (std::size_t i = 0; i < kFrames; ++i) {
    const FrameName name = near.queue_from(sent.all().subspan(i * kFrame, kFrame));
    i == 0 ? far.expect_lost(name, received.all()) : far.expect(name);
  }
  write_until_stuck(near);
  read_into_payload();
  for (auto* lane : {&pair.near, &pair.far}) {
    int looks = 0;
    for (; !(*lane)->end() && looks < 20'000; ++looks) pair.pass_time();
    EXPECT_LT(looks, 20'000) << "the lane never ended";
    lane->reset();
  }
  sent.take_away();
  received.take_away();
  for (int i = 0; i < 50; ++i) pair.pass_time();
}

TEST_P(LaneMemory, released_memory_is_free_for_other_use) {
  // The near recorder overwrites released memory; the far one checks what arrives.
  for (int i = 0; i < 40; ++i) send(near, far, 64 * KiB);
  turn_until([&] { return near.freed == near.queued; });
  EXPECT_EQ(near.handed, near.queued);
  finish();
}

INSTANTIATE_TEST_SUITE_P(Wires, LaneMemory, ::testing::ValuesIn(all_factories()),
                         [](const auto& wire) { return wire.param.name; });

}  // namespace
}  // namespace railweave::wire::contract
