// The limit of pinned memory binds a process unless the kernel exempts the process.
#include "wire/verbs/pin_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

namespace railweave::wire::verbs {
namespace {

const std::string kHostUsers = "         0          0 4294967295\n";
const std::string kRoot = "Name:\tx\nCapEff:\t000001ffffffffff\nNoNewPrivs:\t0\n";

TEST(VerbsPinLimit, does_not_bind_a_process_with_the_capability) {
  EXPECT_TRUE(may_pin_without_limit(kRoot, kHostUsers));
  EXPECT_TRUE(may_pin_without_limit("\nCapEff:\t0000000000004000\n", kHostUsers));
}

TEST(VerbsPinLimit, binds_all_others) {
  EXPECT_FALSE(may_pin_without_limit("\nCapEff:\t00000000a80425fb\n", kHostUsers)) << "docker's default for root";
  EXPECT_FALSE(may_pin_without_limit("\nCapEff:\t0000000000000000\n", kHostUsers));
  EXPECT_FALSE(may_pin_without_limit("Name:\tCapEff:\t000001ffffffffff\n", kHostUsers)) << "a process's own name";
  EXPECT_FALSE(may_pin_without_limit(kRoot, "         0       1000          1\n")) << "root of a user namespace";
  EXPECT_FALSE(may_pin_without_limit(kRoot, "0 0 65536\n"));
}

TEST(VerbsPinLimit, binds_where_the_files_cannot_be_read) {
  EXPECT_FALSE(may_pin_without_limit("", kHostUsers));
  EXPECT_FALSE(may_pin_without_limit(kRoot, ""));
  EXPECT_FALSE(may_pin_without_limit("\nCapEff:\t", kHostUsers));
}

TEST(VerbsPinLimit, is_that_of_this_process) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  const std::uint64_t found = pin_limit_bytes();
  EXPECT_TRUE(found == PinnedBytes::kUnbounded || found == limit.rlim_cur);
}

}  // namespace
}  // namespace railweave::wire::verbs
