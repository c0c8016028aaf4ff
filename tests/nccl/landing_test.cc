// Data that a GPU reads while it lands (LL and LL128). The last 8 bytes of each 128-byte line are a flag: a reader that
// sees the flag takes the 120 bytes before it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/pair.h"
#include "tests/nccl/versions.h"
#include "tests/sanitizers.h"

namespace railweave::nccl_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLineBytes = 128, kWordsPerLine = kLineBytes / 8;
constexpr std::size_t kSlotBytes = 614'400;  // LL128's step

using Word = std::uint64_t;

Word flag_of(Word step) { return step * 0x0101; }
Word data_word(Word step, std::size_t line, std::size_t word) { return step << 40 | Word(line) << 8 | word; }

void write_lines(std::byte* at, Word step) {
  for (std::size_t line = 0; line < kSlotBytes / kLineBytes; ++line) {
    Word words[kWordsPerLine];
    for (std::size_t i = 0; i + 1 < kWordsPerLine; ++i) words[i] = data_word(step, line, i);
    words[kWordsPerLine - 1] = flag_of(step);
    std::memcpy(at + line * kLineBytes, words, kLineBytes);
  }
}

// Plays the GPU: reads each line as soon as its flag is set. Returns the number of lines that were not complete then.
std::size_t lines_torn(std::byte* landing, Word step, const std::atomic<bool>& stop) {
  std::size_t torn = 0;
  for (std::size_t line = 0; line < kSlotBytes / kLineBytes; ++line) {
    auto* const words = reinterpret_cast<Word*>(landing + line * kLineBytes);
    while (std::atomic_ref(words[kWordsPerLine - 1]).load(std::memory_order_acquire) != flag_of(step))
      if (stop) return torn;
    bool whole = true;
    for (std::size_t i = 0; i + 1 < kWordsPerLine; ++i)
      whole = whole && std::atomic_ref(words[i]).load(std::memory_order_relaxed) == data_word(step, line, i);
    torn += !whole;
  }
  return torn;
}

class Landing : public testing::TestWithParam<int> {};

TEST_P(Landing, a_flag_is_never_seen_before_its_data) {
  if (kSanitized) GTEST_SKIP() << "the reader races with the kernel's writes by design";
  clear_captured_log();
  const Scenario scenario{.version = GetParam(), .messages = 0, .slot_bytes = kSlotBytes, .depth = 1};
  Pair pair(scenario);
  Net& net = pair.first->net();
  SendFlow& sender = *pair.first->sends()[0];
  RecvFlow& receiver = *pair.second->receives()[0];
  std::memset(receiver.memory().data(), 0, kSlotBytes);
  std::size_t torn = 0;
  for (Word step = 1; step <= 200; ++step) {
    write_lines(sender.memory().data(), step);
    std::atomic<bool> stop{false};
    std::thread gpu([&] { torn += lines_torn(receiver.memory().data(), step, stop); });
    void *send_request = nullptr, *recv_request = nullptr;
    recv_request = reinterpret_cast<void*>(GetParam() >= 9 ? abi::kOptionalRecvCompletion : 0);
    EXPECT_EQ(net.irecv(receiver.net_comm(), 1, receiver.memory().data(), kSlotBytes, nullptr, &recv_request),
              abi::kSuccess);
    EXPECT_EQ(net.isend(sender.net_comm(), sender.memory().data(), kSlotBytes, nullptr, &send_request), abi::kSuccess);
    int sent = 0, received = 0;
    spin_until("landed", 20s, [&] {
      if (!sent) expect_success(net.test(send_request, &sent, nullptr), "test");
      if (!received) expect_success(net.test(recv_request, &received, nullptr), "test");
      return sent && received;
    });
    stop = true;
    gpu.join();
  }
  EXPECT_EQ(torn, 0u);
}

INSTANTIATE_TEST_SUITE_P(, Landing, testing::Values(6, 12), version_name);

}  // namespace
}  // namespace railweave::nccl_test
