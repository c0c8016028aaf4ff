// connect: NCCL polls it with a handle in which connect keeps a mark. The mark is never trusted.
#include <cstring>

#include "tests/nccl/entry/fixture.h"

namespace railweave::nccl_test {
namespace {

class Connecting : public Entry {
 protected:
  int new_connectors() const { return fake::counters().connectors - before_; }

 private:
  const int before_ = fake::counters().connectors;  // with older versions, objects live as long as the process
};

constexpr std::size_t kFixed = kHandleFixedBytes;

bool mark_is_zero(const HandleBytes& handle) {
  for (std::size_t i = kFixed; i < handle.size(); ++i)
    if (handle[i]) return false;
  return true;
}

TEST_P(Connecting, connect__is_polled_and_leaves_the_handle_clean) {
  HandleBytes handle{};
  listen(handle);
  ASSERT_TRUE(mark_is_zero(handle));
  const HandleBytes fresh = handle;
  void* comm = &comm;
  ASSERT_EQ(net->connect(context, 0, -1, handle.data(), &comm), abi::kSuccess);
  EXPECT_EQ(comm, nullptr);
  EXPECT_FALSE(mark_is_zero(handle));
  EXPECT_EQ(new_connectors(), 1);
  EXPECT_NE(connected(handle), nullptr);
  EXPECT_EQ(handle, fresh);
  EXPECT_EQ(new_connectors(), 0);
}

TEST_P(Connecting, a_handle_copied_in_mid_connect_is_refused_once_that_ended) {
  HandleBytes handle{};
  listen(handle);
  void* comm = nullptr;
  ASSERT_EQ(net->connect(context, 0, -1, handle.data(), &comm), abi::kSuccess);
  HandleBytes copy = handle;
  EXPECT_NE(connected(handle), nullptr);
  EXPECT_EQ(net->connect(context, 0, -1, copy.data(), &comm), abi::kInvalidUsage);
  EXPECT_NE(only_warning().find("bytes 112 to 127"), std::string::npos) << only_warning();
}

TEST_P(Connecting, a_foreign_mark_is_refused_and_never_followed) {
  HandleBytes handle{};
  void* const listener = listen(handle);
  const std::uint64_t suspicious[] = {1,
                                      8,
                                      0xdeadbeef,
                                      ~0ull,
                                      std::uint64_t(reinterpret_cast<std::uintptr_t>(this)),
                                      std::uint64_t(reinterpret_cast<std::uintptr_t>(listener))};
  for (const std::uint64_t word : suspicious) {
    HandleBytes foreign = handle;
    std::memcpy(&foreign[kFixed], &word, sizeof word);
    void* comm = nullptr;
    EXPECT_EQ(net->connect(context, 0, -1, foreign.data(), &comm), abi::kInvalidUsage) << word;
    EXPECT_EQ(comm, nullptr);
  }
}

TEST_P(Connecting, a_guessed_mark_is_refused) {
  HandleBytes handle{};
  listen(handle);
  void* comm = nullptr;
  ASSERT_EQ(net->connect(context, 0, -1, handle.data(), &comm), abi::kSuccess);
  HandleBytes guessed = handle;
  guessed[kFixed + 8] ^= 0x80;  // a bit of the nonce
  EXPECT_EQ(net->connect(context, 0, -1, guessed.data(), &comm), abi::kInvalidUsage);
  EXPECT_NE(connected(handle), nullptr) << "the true one goes on";
}

TEST_P(Connecting, a_damaged_handle_is_refused_by_the_engine) {
  HandleBytes handle{};
  listen(handle);
  handle[0] ^= 1;
  void* comm = nullptr;
  EXPECT_EQ(net->connect(context, 0, -1, handle.data(), &comm), abi::kInvalidUsage);
  EXPECT_EQ(new_connectors(), 0);
}

TEST_P(Connecting, a_failed_attempt_leaves_nothing_behind) {
  HandleBytes handle{};
  listen(handle);
  void* comm = nullptr;
  fake::fail_next(fake::Call::poll, Status(Code::timed_out, Scope::session, "nobody answered within 20 s"));
  EXPECT_EQ(net->connect(context, 0, -1, handle.data(), &comm), abi::kRemoteError);
  EXPECT_EQ(new_connectors(), 0);
  EXPECT_TRUE(mark_is_zero(handle));
  EXPECT_EQ(only_warning(), "NET/Railweave : nobody answered within 20 s");
}

TEST_P(Connecting, accept__gives_null_until_a_peer_connected) {
  HandleBytes handle{};
  void* const listener = listen(handle);
  void* comm = &comm;
  EXPECT_EQ(net->accept(listener, &comm), abi::kSuccess);
  EXPECT_EQ(comm, nullptr);
}

TEST_P(Connecting, an_unknown_device_is_refused) {
  HandleBytes handle{};
  void* comm = nullptr;
  EXPECT_EQ(net->listen(context, 2, handle.data(), &comm), abi::kInternalError);
  EXPECT_EQ(only_warning(), "NET/Railweave : listen: device 2, there are 2");
  listen(handle);
  EXPECT_EQ(net->connect(context, -1, -1, handle.data(), &comm), abi::kInternalError);
}

INSTANTIATE_TEST_SUITE_P(, Connecting, all_versions(), version_name);

}  // namespace
}  // namespace railweave::nccl_test
