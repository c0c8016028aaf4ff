// Every error becomes one warning and the right ncclResult_t, and no exception leaves the plugin.
#include "tests/nccl/entry/fixture.h"

namespace railweave::nccl_test {
namespace {

using Errors = Entry;
using fake::Call;

struct Mapping {
  Code code;
  ReturnCode expected;
};

constexpr Mapping kMappings[] = {
    {Code::invalid_argument, abi::kInvalidUsage},
    {Code::invalid_config, abi::kInvalidUsage},
    {Code::truncated, abi::kInvalidUsage},
    {Code::cancelled, abi::kInternalError},
    {Code::remote, abi::kRemoteError},
    {Code::left, abi::kRemoteError},
    {Code::system, abi::kSystemError},
    {Code::timed_out, abi::kRemoteError},
    {Code::exhausted, abi::kSystemError},
    {Code::internal, abi::kInternalError},
};

TEST_P(Errors, each_code_of_the_engine_has_its_return_code) {
  HandleBytes handle{};
  for (const auto& [code, expected] : kMappings) {
    clear_captured_log();
    fake::fail_next(Call::listen, Status(code, Scope::session, "planned " + std::to_string(int(code))));
    void* comm = nullptr;
    EXPECT_EQ(net->listen(context, 0, handle.data(), &comm), expected);
    EXPECT_EQ(only_warning(), "NET/Railweave : planned " + std::to_string(int(code)));
  }
}

TEST_P(Errors, warnings_carry_every_subsystem_flag) {
  fake::fail_next(Call::listen, Status(Code::system, Scope::session, "planned"));
  HandleBytes handle{};
  void* comm = nullptr;
  (void)net->listen(context, 0, handle.data(), &comm);
  ASSERT_EQ(captured_log().size(), 1u);
  EXPECT_EQ(captured_log()[0].flags, abi::kSubsysAll);
}

TEST_P(Errors, a_streams_error_is_logged_once) {
  make_pair();
  char byte = 0;
  for (int i = 0; i < 3; ++i) {
    fake::fail_next(Call::post, Status(Code::remote, Scope::stream, "the peer left"));
    void* request = nullptr;
    EXPECT_EQ(net->isend(send_comm, &byte, 1, nullptr, &request), abi::kRemoteError);
  }
  EXPECT_EQ(only_warning(), "NET/Railweave : the peer left");
}

// A wrong call does not use up the one warning about the stream's own error.
TEST_P(Errors, misuse_does_not_silence_a_streams_error) {
  make_pair();
  char byte = 0;
  void* request = nullptr;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(net->isend(recv_comm, &byte, 1, nullptr, &request), abi::kInternalError);
  EXPECT_EQ(captured_warnings().size(), 2u) << warnings_text();
  clear_captured_log();
  fake::fail_next(Call::test, Status(Code::truncated, Scope::stream, "the message is too long"));
  ASSERT_EQ(net->irecv(recv_comm, 1, &byte, 1, nullptr, &request), abi::kSuccess);
  int done = 0;
  EXPECT_EQ(net->test(request, &done, nullptr), abi::kInvalidUsage);
  EXPECT_EQ(only_warning(), "NET/Railweave : the message is too long");
}

TEST_P(Errors, a_sessions_error_is_left_to_the_engine_to_log) {
  make_pair();
  char byte = 0;
  void* request = nullptr;
  fake::fail_next(Call::post, Status(Code::remote, Scope::session, "the peer left"));
  EXPECT_EQ(net->isend(send_comm, &byte, 1, nullptr, &request), abi::kRemoteError);
  EXPECT_TRUE(captured_warnings().empty()) << warnings_text();
}

TEST_P(Errors, a_failed_test_frees_its_request) {
  make_pair();
  char byte = 0;
  for (int i = 0; i < 200; ++i) {
    void* request = nullptr;
    ASSERT_EQ(net->isend(send_comm, &byte, 1, nullptr, &request), abi::kSuccess);
    ASSERT_NE(request, nullptr) << "after " << i;
    fake::fail_next(Call::test, Status(Code::remote, Scope::session, "the peer left"));
    int done = 0;
    ASSERT_EQ(net->test(request, &done, nullptr), abi::kRemoteError);
  }
}

TEST_P(Errors, nothing_thrown_crosses_the_abi) {
  HandleBytes handle{}, other{};
  void* const listener = listen(handle);
  void* comm = nullptr;
  fake::throw_next(Call::listen);
  EXPECT_EQ(net->listen(context, 0, other.data(), &comm), abi::kInternalError);
  fake::throw_next(Call::connect);
  EXPECT_EQ(net->connect(context, 0, -1, handle.data(), &comm), abi::kInternalError);
  fake::throw_next(Call::accept);
  EXPECT_EQ(net->accept(listener, &comm), abi::kInternalError);
  make_pair();
  char byte = 0;
  void* request = nullptr;
  fake::throw_next(Call::post);
  EXPECT_EQ(net->isend(send_comm, &byte, 1, nullptr, &request), abi::kInternalError);
  EXPECT_EQ(captured_warnings().size(), 4u);
  EXPECT_EQ(captured_warnings()[0], "NET/Railweave : listen: unexpected exception: planned by the test");
}

TEST_P(Errors, misuse_is_an_internal_error_with_a_warning) {
  make_pair();
  char byte = 0;
  void* out = nullptr;
  int done = 0;
  EXPECT_EQ(net->irecv(recv_comm, 2, &byte, 1, nullptr, &out), abi::kInternalError) << "maxRecvs is 1";
  EXPECT_EQ(net->isend(recv_comm, &byte, 1, nullptr, &out), abi::kInternalError);
  EXPECT_EQ(net->irecv(send_comm, 1, &byte, 1, nullptr, &out), abi::kInternalError);
  EXPECT_EQ(net->iflush(recv_comm, &byte, 1, nullptr, &out), abi::kInternalError);
  EXPECT_EQ(net->reg_mr(send_comm, &byte, 1, abi::kPtrCuda, &out), abi::kInternalError);
  EXPECT_EQ(net->test(nullptr, &done, nullptr), abi::kInternalError);
  EXPECT_EQ(net->close_send(&byte), abi::kInternalError);
  Properties properties;
  EXPECT_EQ(net->properties(99, properties), abi::kInternalError);
  EXPECT_EQ(net->properties(-1, properties), abi::kInternalError);
  EXPECT_EQ(captured_warnings().size(), 9u) << warnings_text();
}

INSTANTIATE_TEST_SUITE_P(, Errors, all_versions(), version_name);

}  // namespace
}  // namespace railweave::nccl_test
