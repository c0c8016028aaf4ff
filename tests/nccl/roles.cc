// The roles of second processes.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/nccl/describe.h"
#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"
#include "tests/nccl/rank.h"

namespace railweave::nccl_test {
namespace {

void expect_no_warnings() {
  if (!captured_warnings().empty()) throw Failure("there were warnings");
}

// Runs rank 1 of a scenario, from init to finalize.
int rank_one(Channel& to_test, const std::string& scenario_text) {
  const Scenario scenario = Scenario::parse(scenario_text);
  const Library library(options().plugin);
  const auto net = library.net(scenario.version);
  run_rank(*net, scenario, 1, to_test);
  expect_no_warnings();
  return 0;
}

// Posts a window on every comm, makes no call until the test sends a message, and then runs to the end.
int post_and_wait(Channel& to_test, const std::string& scenario_text) {
  const Scenario scenario = Scenario::parse(scenario_text);
  const Library library(options().plugin);
  const auto net = library.net(scenario.version);
  Rank rank(*net, scenario, 1);
  rank.connect(to_test);
  for (auto& flow : rank.receives()) flow->post_window();
  for (auto& flow : rank.sends()) flow->post_window();
  to_test.send("posted");
  to_test.receive();
  rank.run();
  to_test.barrier();
  rank.close();
  expect_no_warnings();
  return 0;
}

// Runs rank 1, and then waits to be killed.
int stay(Channel& to_test, const std::string& scenario_text) {
  const Scenario scenario = Scenario::parse(scenario_text);
  const Library library(options().plugin);
  const auto net = library.net(scenario.version);
  Rank rank(*net, scenario, 1);
  rank.connect(to_test);
  rank.run();
  to_test.receive();
  return 0;
}

// `argument`: "COUNT:SCENARIO". Runs rank `number` COUNT times, each time in a new child, which leaves by _exit right
// after its last test(). No thread of this process exists at a fork but the caller's.
int leave_repeatedly(Channel& to_test, const std::string& argument, int number) {
  const std::size_t colon = argument.find(':');
  const int count = std::stoi(argument.substr(0, colon));
  Scenario scenario = Scenario::parse(argument.substr(colon + 1));
  for (int i = 0; i < count; ++i) {
    scenario.seed = std::uint64_t(i);
    const pid_t child = fork();
    if (child == 0) {
      const Library library(options().plugin);
      const auto net = library.net(scenario.version);
      Rank rank(*net, scenario, number);
      rank.connect(to_test);
      rank.run();
      _exit(captured_warnings().empty() ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
      throw Failure("child " + std::to_string(i) + " ended with wait status " + std::to_string(status));
  }
  return 0;
}

int leave_after_receiving(Channel& to_test, const std::string& argument) {
  return leave_repeatedly(to_test, argument, 1);
}
int leave_after_sending(Channel& to_test, const std::string& argument) {
  return leave_repeatedly(to_test, argument, 0);
}

// Sends a valid handle and exits.
int listen_and_leave(Channel& to_test, const std::string&) {
  const Library library(options().plugin);
  const auto net = library.net(11);
  void *context = nullptr, *listener = nullptr;
  std::string handle(abi::kHandleMaxBytes, '\0');
  expect_success(net->init(&context, -1, capture_log), "init");
  expect_success(net->listen(context, 0, handle.data(), &listener), "listen");
  to_test.send(handle);
  return 0;
}

// Calls init without a free descriptor. Answers "RESULT WARNINGS".
int init_without_descriptors(Channel& to_test, const std::string&) {
  const Library library(options().plugin);
  const auto net = library.net(11);
  const int next_free = dup(0);
  const rlimit none{rlim_t(next_free), rlim_t(next_free)};
  setrlimit(RLIMIT_NOFILE, &none);
  close(next_free);
  void* context = nullptr;
  const ReturnCode result = net->init(&context, -1, capture_log);
  to_test.send(std::to_string(int(result)) + " " + warnings_text());
  return 0;
}

}  // namespace

const std::map<std::string, Role>& roles() {
  static const std::map<std::string, Role> kRoles{
      {"rank_one", rank_one},
      {"post_and_wait", post_and_wait},
      {"stay", stay},
      {"leave_after_receiving", leave_after_receiving},
      {"leave_after_sending", leave_after_sending},
      {"describe", role_describe},
      {"listen_and_leave", listen_and_leave},
      {"init_without_descriptors", init_without_descriptors},
  };
  return kRoles;
}

}  // namespace railweave::nccl_test
