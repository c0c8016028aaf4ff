// Requests and registered memory: isend, irecv, test, regMr and deregMr.
#include <deque>
#include <vector>

#include "tests/nccl/entry/fixture.h"

namespace railweave::nccl_test {
namespace {

using Requests = Entry;

TEST_P(Requests, no_room_is_a_null_request_and_no_error) {
  make_pair();
  char byte = 0;
  std::deque<void*> requests;
  for (;;) {
    void* request = &request;
    ASSERT_EQ(net->isend(send_comm, &byte, 1, nullptr, &request), abi::kSuccess);
    if (!request) break;
    requests.push_back(request);
    ASSERT_LE(requests.size(), kRequestsPerStream);
  }
  EXPECT_GE(requests.size(), std::size_t(abi::kMaxRequests));
  char into[1];
  void* received = nullptr;
  ASSERT_EQ(net->irecv(recv_comm, 1, into, 1, nullptr, &received), abi::kSuccess);
  int done = 0;
  ASSERT_EQ(net->test(requests.front(), &done, nullptr), abi::kSuccess);
  ASSERT_EQ(done, 1);
  void* request = nullptr;
  ASSERT_EQ(net->isend(send_comm, &byte, 1, nullptr, &request), abi::kSuccess);
  EXPECT_NE(request, nullptr) << "one is free again";
  EXPECT_EQ(warnings_text(), "");
}

TEST_P(Requests, no_room_clears_the_hint_in_request) {
  make_pair();
  char byte = 0;
  void* request = nullptr;
  for (std::size_t posted = 0; posted <= kRequestsPerStream; ++posted) {
    request = reinterpret_cast<void*>(abi::kOptionalRecvCompletion);
    ASSERT_EQ(net->irecv(recv_comm, 1, &byte, 1, nullptr, &request), abi::kSuccess);
    ASSERT_NE(request, reinterpret_cast<void*>(abi::kOptionalRecvCompletion));
  }
  EXPECT_EQ(request, nullptr);
}

TEST_P(Requests, receives_that_a_gpu_reads_while_they_land_are_posted_so) {
  make_pair();
  std::vector<char> memory(1 << 20);
  const auto reading_of = [&](std::size_t size, void* request) {
    EXPECT_EQ(net->irecv(recv_comm, 1, memory.data(), size, nullptr, &request), abi::kSuccess);
    return fake::counters().last_reading.load();
  };
  const bool hints = GetParam() >= 9;
  void* const hint = reinterpret_cast<void*>(abi::kOptionalRecvCompletion);
  if (hints) {
    EXPECT_EQ(reading_of(memory.size(), hint), Reading::while_landing);
  }
  EXPECT_EQ(reading_of(614'400, nullptr), hints ? Reading::when_done : Reading::while_landing);
  EXPECT_EQ(reading_of(memory.size(), nullptr), Reading::when_done);
}

TEST_P(Requests, an_unfinished_request_sets_done_to_zero) {
  make_pair();
  char byte = 0;
  void* request = nullptr;
  ASSERT_EQ(net->irecv(recv_comm, 1, &byte, 1, nullptr, &request), abi::kSuccess);
  int done = -1, size = -7;
  EXPECT_EQ(net->test(request, &done, &size), abi::kSuccess);
  EXPECT_EQ(done, 0);
}

TEST_P(Requests, zero_bytes_need_no_buffer) {
  make_pair();
  void *send_request = nullptr, *recv_request = reinterpret_cast<void*>(abi::kOptionalRecvCompletion);
  ASSERT_EQ(net->isend(send_comm, nullptr, 0, nullptr, &send_request), abi::kSuccess);
  ASSERT_EQ(net->irecv(recv_comm, 1, nullptr, 0, nullptr, &recv_request), abi::kSuccess);
  int done = 0, size = -1;
  ASSERT_EQ(net->test(recv_request, &done, &size), abi::kSuccess);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(size, 0);
}

TEST_P(Requests, dereg_mr__withdraws_the_memory_of_its_handle) {
  make_pair();
  std::vector<char> memory(4096);
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(net->reg_mr(recv_comm, memory.data(), memory.size(), abi::kPtrHost, &first), abi::kSuccess);
  ASSERT_EQ(net->reg_mr(recv_comm, memory.data(), memory.size(), abi::kPtrHost, &second), abi::kSuccess);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second);
  void* request = nullptr;
  ASSERT_EQ(net->irecv(recv_comm, 1, memory.data(), memory.size(), first, &request), abi::kSuccess);
  const int withdrawals = fake::counters().withdrawals;
  EXPECT_EQ(net->dereg_mr(recv_comm, first), abi::kSuccess);
  EXPECT_EQ(fake::counters().withdrawals, withdrawals + 1);
  EXPECT_EQ(net->dereg_mr(recv_comm, first), abi::kInternalError) << "twice";
  EXPECT_EQ(net->dereg_mr(send_comm, second), abi::kInternalError) << "another comm's";
  EXPECT_EQ(net->dereg_mr(recv_comm, nullptr), abi::kSuccess);
  int done = 0;
  EXPECT_EQ(net->test(request, &done, nullptr), abi::kInternalError) << "cancelled";
}

TEST_P(Requests, optional_entries_are_null) { EXPECT_EQ(net->optional_entries(), std::vector<std::string>{}); }

INSTANTIATE_TEST_SUITE_P(, Requests, all_versions(), version_name);

}  // namespace
}  // namespace railweave::nccl_test
