#include "base/sealed_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>

namespace railweave {
namespace {

// Without a check, the kernel would send SIGXFSZ, which ends the process.
TEST(SealedMemory, make_sealed_memory__beyond_the_file_size_limit_is_an_error) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64 * 1024;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto large = make_sealed_memory(64 * 1024 + 1), fits = make_sealed_memory(64 * 1024);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(large.status().system_errno(), EFBIG) << large.status().message();
  EXPECT_TRUE(fits.ok()) << fits.status().message();
}

}  // namespace
}  // namespace railweave
