// plugin/nccl linked with the fake engine: the table of each version, with a context and a pair of comms.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "nccl/library.h"
#include "tests/nccl/failure.h"
#include "tests/nccl/fake_engine.h"
#include "tests/nccl/library.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/versions.h"

namespace railweave::nccl_test {

std::unique_ptr<Net> linked_net(int version);

using HandleBytes = std::array<unsigned char, abi::kHandleMaxBytes>;

class Entry : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    clear_captured_log();
    ASSERT_EQ(net->init(&context, -1, capture_log), abi::kSuccess) << warnings_text();
    clear_captured_log();
  }
  void TearDown() override {
    if (!finalized) {
      EXPECT_EQ(net->finalize(context), abi::kSuccess);
    }
  }

  void* listen(HandleBytes& handle) {
    void* comm = nullptr;
    expect_success(net->listen(context, 0, handle.data(), &comm), "listen");
    return comm;
  }
  // Polls connect until it returns a comm, at most 100 times.
  void* connected(HandleBytes& handle) {
    void* comm = nullptr;
    for (int polls = 0; !comm && polls < 100; ++polls)
      expect_success(net->connect(context, 0, -1, handle.data(), &comm), "connect");
    return comm;
  }
  void make_pair() {
    HandleBytes handle{};
    void* const listener = listen(handle);
    send_comm = connected(handle);
    expect_success(net->accept(listener, &recv_comm), "accept");
    expect_success(net->close_listen(listener), "closeListen");
  }

  const std::unique_ptr<Net> net = linked_net(GetParam());
  void* context = nullptr;
  void* send_comm = nullptr;
  void* recv_comm = nullptr;
  bool finalized = false;
};

// Returns the only warning, or a description of the warnings if there is not exactly one.
inline std::string only_warning() {
  const auto warnings = captured_warnings();
  return warnings.size() == 1 ? warnings[0] : std::to_string(warnings.size()) + " warnings: " + warnings_text();
}

}  // namespace railweave::nccl_test
