#include "base/bounded_call.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

namespace railweave {
namespace {

using namespace std::chrono_literals;

TEST(BoundedCall, returns_the_result_or_the_error_of_the_task) {
  const auto five = call_within<int>(10s, "test", [] { return Result<int>(5); });
  ASSERT_TRUE(five.ok());
  EXPECT_EQ(5, five.value());
  const auto refused =
      call_within<int>(10s, "test", [] { return Result<int>(Status(Code::system, Scope::request, "refused")); });
  EXPECT_EQ("refused", refused.status().message());
}

TEST(BoundedCall, goes_on_without_a_task_that_blocks) {
  std::promise<void> unblock;
  const auto over = std::make_shared<std::promise<void>>();
  const auto late = call_within<int>(1ms, "test", [blocked = unblock.get_future().share(), over] {
    blocked.wait();
    over->set_value();
    return Result<int>(5);
  });
  EXPECT_EQ(Code::timed_out, late.status().code());
  unblock.set_value();
  EXPECT_EQ(std::future_status::ready, over->get_future().wait_for(10s));
}

TEST(BoundedCall, turns_an_exception_into_an_error) {
  const auto thrown =
      call_within<int>(10s, "test", []() -> Result<int> { throw std::runtime_error("thrown for a test"); });
  EXPECT_EQ(Code::exhausted, thrown.status().code());
  EXPECT_EQ("thrown for a test", thrown.status().message());
}

}  // namespace
}  // namespace railweave
