// A fork in the middle of a call: the child begins afresh, with nothing of the parent's call.
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "tests/nccl/entry/fixture.h"

namespace railweave::nccl_test {
namespace {

TEST(Fork, a_child_forked_during_an_init_may_init_itself) {
  const std::unique_ptr<Net> net = linked_net(11);
  std::promise<void> begun, forked;
  fake::run_at_next(fake::Call::start, [&] {
    begun.set_value();
    forked.get_future().wait();
  });
  void* context = nullptr;
  std::thread other([&] { EXPECT_EQ(net->init(&context, -1, capture_log), abi::kSuccess); });
  begun.get_future().wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(5);
    void* own = nullptr;
    const bool ok = net->init(&own, -1, nullptr) == abi::kSuccess && own && net->finalize(own) == abi::kSuccess;
    _exit(ok ? 0 : 1);
  }
  forked.set_value();
  other.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << ": the child hung";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(net->finalize(context), abi::kSuccess);
}

}  // namespace
}  // namespace railweave::nccl_test
