#include "base/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace railweave {
namespace {

Status fail() { return Status(Code::remote, Scope::session, "gone"); }
Result<int> number(bool good) {
  if (good) return 42;
  return Status(Code::timed_out, Scope::lane, "late");
}

Status try_status(bool good, bool& went_on) {
  if (good)
    RW_TRY(Status());
  else
    RW_TRY(fail());
  went_on = true;
  return Status();
}

Result<std::string> try_result(bool good) {
  RW_TRY(number(good));
  RW_ASSIGN_OR_RETURN(const int n, number(good));
  RW_ASSIGN_OR_RETURN(auto owned, Result<std::unique_ptr<int>>(std::make_unique<int>(n)));
  return std::to_string(*owned);
}

TEST(SystemError, the_message_says_what_failed_and_why) {
  const Status status = system_error(Scope::lane, "connect to 10.0.0.1:7", ECONNREFUSED);
  EXPECT_EQ(status.message(), "connect to 10.0.0.1:7: Connection refused (errno 111)");
  EXPECT_EQ(status.code(), Code::system);
  EXPECT_EQ(status.scope(), Scope::lane);
  EXPECT_EQ(status.system_errno(), ECONNREFUSED);
}

TEST(SystemError, errno_is_taken_where_none_is_given) {
  errno = ENOENT;
  EXPECT_EQ(system_error(Scope::engine, "open").system_errno(), ENOENT);
}

TEST(SystemError, an_unknown_errno_has_a_message) {
  EXPECT_EQ(system_error(Scope::engine, "ioctl", 99999).message(), "ioctl: Unknown error 99999 (errno 99999)");
}

TEST(Try, the_first_error_is_returned_and_nothing_else) {
  bool went_on = false;
  EXPECT_EQ(try_status(false, went_on).message(), "gone");
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(try_status(true, went_on).ok());
  EXPECT_TRUE(went_on);
}

TEST(Try, results_of_other_types_and_move_only_values_pass) {
  EXPECT_EQ(try_result(true).value(), "42");
  EXPECT_EQ(try_result(false).status().code(), Code::timed_out);
}

}  // namespace
}  // namespace railweave
