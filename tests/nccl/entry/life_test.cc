// Contexts: init, finalize, the objects that they leave behind, and the engine that they share.
#include "tests/nccl/entry/fixture.h"

namespace railweave::nccl_test {
namespace {

using Life = Entry;     // every version
using Context = Entry;  // version 11 and later, which have finalize
using fake::Call;
using fake::counters;

TEST_P(Context, finalize__reaps_what_nccl_forgets) {
  const int listeners = counters().listeners, connectors = counters().connectors, streams = counters().streams;
  HandleBytes handle{}, half_open{};
  listen(handle);
  void* const second = listen(half_open);
  void* comm = nullptr;
  ASSERT_EQ(net->connect(context, 0, -1, half_open.data(), &comm), abi::kSuccess);
  ASSERT_EQ(comm, nullptr) << "the fake answers at the third poll";
  make_pair();
  (void)second;
  EXPECT_EQ(counters().listeners, listeners + 2);
  EXPECT_EQ(counters().connectors, connectors + 1);
  EXPECT_EQ(counters().streams, streams + 2);
  EXPECT_EQ(net->finalize(context), abi::kSuccess);
  finalized = true;
  EXPECT_EQ(counters().listeners, listeners);
  EXPECT_EQ(counters().connectors, connectors);
  EXPECT_EQ(counters().streams, streams);
}

TEST_P(Context, finalize__leaves_other_contexts_alone) {
  void* other = nullptr;
  ASSERT_EQ(net->init(&other, -1, capture_log), abi::kSuccess);
  make_pair();
  EXPECT_EQ(net->finalize(other), abi::kSuccess);
  char sent = 'x', received = 0;
  void *send_request = nullptr, *recv_request = nullptr;
  ASSERT_EQ(net->isend(send_comm, &sent, 1, nullptr, &send_request), abi::kSuccess);
  ASSERT_EQ(net->irecv(recv_comm, 1, &received, 1, nullptr, &recv_request), abi::kSuccess);
  int done = 0, size = 0;
  ASSERT_EQ(net->test(recv_request, &done, &size), abi::kSuccess);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(size, 1);
  EXPECT_EQ(received, 'x');
}

TEST_P(Context, finalize__of_the_last_context_stops_the_engine) {
  if (nccl::Library::get().life_context()) GTEST_SKIP() << "an older version holds the engine in this process";
  EXPECT_EQ(counters().engines, 1);
  void* other = nullptr;
  ASSERT_EQ(net->init(&other, -1, capture_log), abi::kSuccess);
  EXPECT_EQ(counters().engines, 1);
  EXPECT_EQ(net->finalize(context), abi::kSuccess);
  finalized = true;
  EXPECT_EQ(counters().engines, 1);
  EXPECT_EQ(net->finalize(other), abi::kSuccess);
  EXPECT_EQ(counters().engines, 0);
}

TEST_P(Context, finalize__accepts_null_and_no_unknown_context) {
  EXPECT_EQ(net->finalize(nullptr), abi::kSuccess);
  EXPECT_EQ(net->finalize(nullptr), abi::kSuccess);
  EXPECT_EQ(warnings_text(), "");
  int stranger = 0;
  EXPECT_EQ(net->finalize(&stranger), abi::kInternalError);
  EXPECT_EQ(net->finalize(context), abi::kSuccess);
  EXPECT_EQ(net->finalize(context), abi::kInternalError) << "a second time";
  finalized = true;
}

TEST_P(Context, init__that_failed_leaves_no_context_and_may_be_repeated) {
  if (nccl::Library::get().life_context()) GTEST_SKIP() << "an older version holds the engine in this process";
  ASSERT_EQ(net->finalize(context), abi::kSuccess);
  finalized = true;
  fake::fail_next(Call::start, Status(Code::invalid_config, Scope::engine, "no usable interface"));
  void* again = &again;
  EXPECT_EQ(net->init(&again, -1, capture_log), abi::kInvalidUsage);
  EXPECT_EQ(again, nullptr);
  EXPECT_EQ(only_warning(), "NET/Railweave : no usable interface");
  EXPECT_EQ(net->finalize(again), abi::kSuccess) << "as NCCL 2.28.9 does";
  EXPECT_EQ(net->init(&again, -1, capture_log), abi::kSuccess);
  EXPECT_EQ(net->finalize(again), abi::kSuccess);
}

TEST_P(Context, init__passes_its_traffic_class_to_the_engine) {
  void* marked = nullptr;
  ASSERT_EQ(net->init(&marked, 0x68, capture_log), abi::kSuccess);
  HandleBytes handle{};
  listen(handle);
  void* comm = nullptr;
  ASSERT_EQ(net->connect(marked, 0, -1, handle.data(), &comm), abi::kSuccess);
  EXPECT_EQ(counters().last_traffic_class, 0x68);
  EXPECT_EQ(net->finalize(marked), abi::kSuccess);
  EXPECT_EQ(net->init(&marked, 256, capture_log), abi::kInvalidUsage);
  EXPECT_NE(only_warning().find("traffic class 256: expected 0 to 255"), std::string::npos) << only_warning();
}

INSTANTIATE_TEST_SUITE_P(, Context, testing::Values(11, 12), version_name);

TEST(ConnectConfig, the_traffic_class_of_version_10_reaches_the_engine) {
  const auto net = linked_net(10);
  void* context = nullptr;
  ASSERT_EQ(net->init(&context, -1, capture_log), abi::kSuccess);
  HandleBytes handle{};
  void *listener = nullptr, *comm = nullptr;
  ASSERT_EQ(net->listen(context, 0, handle.data(), &listener), abi::kSuccess);
  ASSERT_EQ(net->connect(context, 0, 0x20, handle.data(), &comm), abi::kSuccess);
  EXPECT_EQ(counters().last_traffic_class, 0x20);
}

TEST_P(Life, init__again_shares_the_engine) {
  void* again = nullptr;
  ASSERT_EQ(net->init(&again, -1, capture_log), abi::kSuccess);
  EXPECT_EQ(counters().engines, 1);
  EXPECT_EQ(net->finalize(again), abi::kSuccess);
  EXPECT_EQ(counters().engines, 1);
}

TEST_P(Life, init__without_a_logger_is_silent_and_succeeds) {
  void* again = nullptr;
  ASSERT_EQ(net->init(&again, -1, nullptr), abi::kSuccess);
  EXPECT_EQ(net->finalize(again), abi::kSuccess);
}

TEST_P(Life, names_outlive_the_engine) {
  Properties properties;
  ASSERT_EQ(net->properties(0, properties), abi::kSuccess);
  EXPECT_EQ(net->finalize(context), abi::kSuccess);
  finalized = true;
  EXPECT_STREQ(properties.name_pointer, "all");
}

TEST_P(Life, properties__fill_every_member) {
  int devices = 0;
  ASSERT_EQ(net->devices(&devices), abi::kSuccess);
  ASSERT_EQ(devices, 2);
  for (int dev = 0; dev < devices; ++dev) {
    Properties p;
    ASSERT_EQ(net->properties(dev, p), abi::kSuccess);
    EXPECT_EQ(p.name, dev == 0 ? "all" : "rail1");
    EXPECT_EQ(p.pci_path, dev == 0 ? "/sys/devices/pci0000:00/0000:00:03.0" : "");
    EXPECT_EQ(p.guid, std::uint64_t(dev + 1));
    EXPECT_EQ(p.speed_mbps, dev == 0 ? 20000 : 10000);
  }
}

INSTANTIATE_TEST_SUITE_P(, Life, all_versions(), version_name);

}  // namespace
}  // namespace railweave::nccl_test
