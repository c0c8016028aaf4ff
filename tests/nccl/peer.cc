#include "tests/nccl/peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/nccl/failure.h"

namespace railweave::nccl_test {
namespace {

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* arguments, char* const* environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  std::map<std::string, std::string> all;
  const auto put = [&](const std::string& entry) {
    const std::size_t equals = entry.find('=');
    all[entry.substr(0, equals)] = entry.substr(equals + 1);
  };
  for (char** entry = environ; *entry; ++entry) put(*entry);
  for (const std::string& entry : changes) put(entry);
  std::vector<std::string> result;
  for (const auto& [name, value] : all)
    if (!value.empty()) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& each : strings) result.push_back(each.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Peer::Peer(const std::string& role, const std::string& argument, const std::vector<std::string>& environment)
    : Peer(Channel::pair(), role, argument, environment) {}

Peer::Peer(std::pair<Channel, Channel> ends, const std::string& role, const std::string& argument,
           const std::vector<std::string>& environment)
    : channel_(std::move(ends.first)) {
  fcntl(channel_.fd(), F_SETFD, FD_CLOEXEC);
  std::vector<std::string> arguments{"nccl_tests", "--plugin=" + options().plugin, "--role=" + role,
                                     "--channel=" + std::to_string(ends.second.fd())};
  if (!argument.empty()) arguments.push_back("--argument=" + argument);
  std::vector<std::string> variables = merged_environment(environment);
  const auto argument_pointers = pointers(arguments), variable_pointers = pointers(variables);
  pid_ = fork();
  if (pid_ == 0) become(argument_pointers.data(), variable_pointers.data());
  if (pid_ < 0) throw Failure("fork failed");
}

Peer::~Peer() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Peer::expect_exit(int status, int timeout_s) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
  int how = 0;
  while (waitpid(pid_, &how, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) throw Failure("the peer process does not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  if (WIFSIGNALED(how)) throw Failure("the peer process died of signal " + std::to_string(WTERMSIG(how)));
  if (WEXITSTATUS(how) != status)
    throw Failure("the peer process exited with " + std::to_string(WEXITSTATUS(how)) + ", expected " +
                  std::to_string(status));
}

}  // namespace railweave::nccl_test
