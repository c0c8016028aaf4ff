#include "base/ascending_copy.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace railweave {
namespace {

TEST(AscendingCopy, copies_exactly_at_every_alignment_and_length) {
  constexpr std::size_t kMargin = 16;
  for (std::size_t from_at = 0; from_at < 8; ++from_at) {
    for (std::size_t to_at = 0; to_at < 8; ++to_at) {
      for (std::size_t n = 0; n <= 150; ++n) {
        std::vector<std::byte> from(8 + n), to(2 * kMargin + 8 + n, std::byte{0xEE});
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i * 31 + 7);
        ascending_copy(to.data() + kMargin + to_at, from.data() + from_at, n);
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= kMargin + to_at && i < kMargin + to_at + n;
          const std::byte expected = inside ? from[from_at + i - kMargin - to_at] : std::byte{0xEE};
          ASSERT_EQ(to[i], expected) << "byte " << i << ", from+" << from_at << " to+" << to_at << ", " << n
                                     << " bytes";
        }
      }
    }
  }
}

// Reads memory backward while a thread writes it. A reader that saw round r in a word must see at least round r in
// every word before. With memcpy (wide or backward stores) this fails. Only passes that saw two rounds ran during a
// copy: the reader goes on until there are kPasses of them, for 5 s at most.
void read_while_written(std::size_t from_at) {
  constexpr std::size_t kWords = 64;
  constexpr int kPasses = 50'000;
  alignas(128) static std::uint64_t to[kWords];
  for (std::uint64_t& word : to) __atomic_store_n(&word, 0, __ATOMIC_RELAXED);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::vector<std::byte> memory(kWords * 8 + 8);
    for (std::uint64_t round = 1; !stop; ++round) {
      for (std::size_t i = 0; i < kWords; ++i) std::memcpy(memory.data() + from_at + 8 * i, &round, 8);
      ascending_copy(reinterpret_cast<std::byte*>(to), memory.data() + from_at, sizeof to);
    }
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::uint64_t backward = 0;
  for (int passes = 0; passes < kPasses && backward == 0 && std::chrono::steady_clock::now() < until;) {
    const std::uint64_t last_word = __atomic_load_n(&to[kWords - 1], __ATOMIC_ACQUIRE);
    std::uint64_t later_word = last_word;
    for (std::size_t i = kWords - 1; i-- > 0;) {
      const std::uint64_t word = __atomic_load_n(&to[i], __ATOMIC_ACQUIRE);
      backward += word < later_word;
      later_word = word;
    }
    passes += later_word != last_word;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(backward, 0u);
}

// A copy that faults at inaccessible memory has stored every byte before. With another order of stores, bytes would be
// missing there.
TEST(AscendingCopy, a_store_that_faults_finds_all_earlier_ones_done) {
  const std::size_t page = std::size_t(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::byte* const end = static_cast<std::byte*>(mapped) + page;
  ASSERT_EQ(::mprotect(end, page, PROT_NONE), 0);
  std::vector<std::byte> from(page);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i * 31 + 7) | std::byte{1};
  for (const std::size_t before : {1u, 7u, 8u, 40u, 129u, 300u, 500u, 1000u}) {
    std::memset(mapped, 0, page);
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGSEGV, [](int) { ::_exit(1); });
      ascending_copy(end - before, from.data(), before + 200);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 1) << "it did not fault";
    EXPECT_EQ(std::memcmp(end - before, from.data(), before), 0) << before << " bytes before the end";
  }
  ::munmap(mapped, 2 * page);
}

TEST(AscendingCopy, a_reader_never_sees_a_later_word_before_an_earlier_one) {
  read_while_written(0);
  read_while_written(3);
}

}  // namespace
}  // namespace railweave
