// Two engines on loopback with a stream from the first to the second. The stream must work whatever a test does to the
// second engine.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "two_engines.h"

namespace railweave::engine_test {

class JoinedEngines : public testing::Test {
 protected:
  void SetUp() override {
    a_ = start_engine();
    b_ = start_engine();
    ASSERT_TRUE(a_ && b_);
    ends_ = join(*a_, *b_);
    ASSERT_TRUE(ends_);
  }

  std::shared_ptr<Engine> a_, b_;
  Ends ends_;  // from the first engine to the second
};

// The second engine has a listener at `handle_`, too, for peers that the test makes.
class ListeningEngine : public JoinedEngines {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(JoinedEngines::SetUp());
    auto listener = b_->listen(0, handle_);
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(*listener);
  }
  void TearDown() override {
    EXPECT_TRUE(transfer(ends_, 200'000, 1)) << "others pay for what was done";
    EXPECT_TRUE(join(*a_, *b_));
  }

  Handle handle_{};
  std::unique_ptr<Listener> listener_;
};

}  // namespace railweave::engine_test
