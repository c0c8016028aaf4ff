#include "base/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace railweave {
namespace {

TEST(ProcessLimits, descriptors_left__counts_those_that_are_open) {
  const std::size_t before = descriptors_left();
  std::vector<OwnedFd> more;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(more.emplace_back(::dup(2)));
  EXPECT_EQ(descriptors_left(), before - 5);
  while (OwnedFd fd{::dup(2)}) more.push_back(std::move(fd));
  EXPECT_EQ(descriptors_left(), 0u);
}

TEST(ProcessLimits, system_error__names_the_limit_of_descriptors_and_only_then) {
  rlimit limit{};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &limit));
  const std::string hint = "this process may have " + std::to_string(limit.rlim_cur) + ": ulimit -n";
  EXPECT_NE(std::string::npos, system_error(Scope::engine, "socket", EMFILE).message().find(hint));
  EXPECT_EQ(std::string::npos, system_error(Scope::engine, "socket", EACCES).message().find("ulimit"));
}

TEST(ProcessLimits, no_thread__names_the_limits_that_may_be_the_cause) {
  const Status full = no_thread(std::system_error(EAGAIN, std::generic_category()));
  EXPECT_EQ(Code::exhausted, full.code());
  for (const char* const word : {"ulimit -u", "pids", "threads-max"})
    EXPECT_NE(std::string::npos, full.message().find(word)) << full.message();
  EXPECT_EQ(std::string::npos, no_thread(std::system_error(EPERM, std::generic_category())).message().find("ulimit"));
}

TEST(ProcessLimits, port_hint__is_for_what_needs_a_privilege) {
  EXPECT_NE(std::string::npos, port_hint(EACCES).find("CAP_NET_BIND_SERVICE"));
  EXPECT_EQ("", port_hint(EADDRINUSE));
}

}  // namespace
}  // namespace railweave
