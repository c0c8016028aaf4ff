#include "base/abstract_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace railweave {
namespace {

std::string name_of(const char* what) { return "railweave-test-" + std::to_string(::getpid()) + "-" + what; }

TEST(AbstractSocket, dial_abstract__reaches_a_listener_until_it_closes) {
  const std::string name = name_of("reach");
  EXPECT_EQ(dial_abstract(name).status().system_errno(), ECONNREFUSED);
  auto listener = listen_abstract(name);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  auto dialled = dial_abstract(name);
  ASSERT_TRUE(dialled.ok()) << dialled.status().message();
  const OwnedFd accepted(::accept(listener->get(), nullptr, nullptr));
  ASSERT_TRUE(accepted);
  EXPECT_EQ(::send(dialled->get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(accepted.get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
  for (const int fd : {listener->get(), dialled->get()}) {
    EXPECT_TRUE(::fcntl(fd, F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
  listener->reset();
  const auto after = dial_abstract(name);
  EXPECT_EQ(after.status().code(), Code::remote);
  EXPECT_NE(after.status().message().find(name), std::string::npos) << after.status().message();
}

TEST(AbstractSocket, listen_abstract__a_name_has_one_owner_and_no_prefix_matches) {
  const auto listener = listen_abstract(name_of("one"));
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ(listen_abstract(name_of("one")).status().system_errno(), EADDRINUSE);
  EXPECT_EQ(dial_abstract(name_of("on")).status().system_errno(), ECONNREFUSED);
  EXPECT_EQ(dial_abstract(name_of("one") + '\0').status().system_errno(), ECONNREFUSED);
}

TEST(AbstractSocket, names_that_do_not_fit_are_refused) {
  EXPECT_TRUE(listen_abstract(name_of("") + std::string(107 - name_of("").size(), 'x')).ok());
  for (const std::string& name : {std::string(), std::string(108, 'x')}) {
    EXPECT_EQ(listen_abstract(name).status().code(), Code::invalid_argument);
    EXPECT_EQ(dial_abstract(name).status().code(), Code::invalid_argument);
  }
}

}  // namespace
}  // namespace railweave
