#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace railweave {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST(OwnedFd, closes_what_it_holds) {
  const int fd = open_null();
  {
    const OwnedFd owned(fd);
    EXPECT_TRUE(owned);
    EXPECT_EQ(owned.get(), fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
  EXPECT_FALSE(OwnedFd());
}

TEST(OwnedFd, moves_and_releases) {
  const int a = open_null(), b = open_null();
  OwnedFd first(a), second(b);
  first = std::move(second);
  EXPECT_FALSE(is_open(a));
  EXPECT_EQ(first.get(), b);
  OwnedFd third(std::move(first));
  EXPECT_EQ(third.release(), b);
  EXPECT_FALSE(third);
  EXPECT_TRUE(is_open(b));
  third.reset(b);
  third.reset();
  EXPECT_FALSE(is_open(b));
}

TEST(OwnedFd, keeps_errno) {
  OwnedFd bad(9999);
  errno = EAGAIN;
  bad.reset();
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace railweave
