// A forked child cannot use its parent's groups, and may make groups of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "collectives/group/group.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::Group;
using collectives::WorkPtr;

// Returns the number of the check that failed; 0: none.
int in_the_child(std::vector<std::shared_ptr<Group>> parents, const WorkPtr& unfinished) {
  ::alarm(60);
  if (unfinished->wait(1s).code() != Code::internal || !unfinished->test()) return 1;
  if (parents[0]->barrier()->wait(1s).code() != Code::internal) return 2;
  int value = 0;
  if (parents[1]->recv(&value, sizeof value, 0)->status().code() != Code::internal) return 3;
  unfinished->abort();
  parents.clear();
  Ranks ranks(2, "of the child");
  std::string said[2];
  ranks.run([&](int rank, Group& group) { said[rank] = outcome(group.barrier()); });
  return said[0] == "ok" && said[1] == "ok" ? 0 : 4;
}

TEST(Fork, a_child_may_make_groups_of_its_own) {
  Ranks ranks(2);
  auto groups = ranks.another("parent");
  ASSERT_TRUE(groups[0] && groups[1]);
  const WorkPtr unfinished = groups[0]->barrier();
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(in_the_child(std::move(groups), unfinished));
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(outcome(groups[1]->barrier()), "ok");
  EXPECT_EQ(outcome(unfinished), "ok");
}

}  // namespace
}  // namespace railweave::collectives_test
