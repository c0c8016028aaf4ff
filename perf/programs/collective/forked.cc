#include "collective/forked.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collective/open_row.h"
#include "collective/store_folder.h"

namespace railweave::perf::collective {
namespace {

constexpr Nanos kFarewell = std::chrono::seconds(3);  // for the other processes to report what they know of a failure
constexpr Nanos kPoll = std::chrono::milliseconds(10);
constexpr pid_t kEnded = -1;

// Running processes, by number; kEnded: ended.
using Children = std::vector<pid_t>;

void end_all(const Children& children) {
  for (const pid_t child : children) {
    if (child != kEnded) ::kill(child, SIGKILL);
  }
}

// Returns the exit status for this process. Reports a death by a signal, which the child cannot report.
int judge(std::size_t process, int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  say_error(fmt::format("process {}: killed by signal {}", process, WTERMSIG(status)));
  return 1;
}

// Waits until all children have ended. A failure ends the others, which might wait for the failed one for long.
int wait_for(Children children) {
  int first_failure = 0;
  TimePoint patience_ends = TimePoint::max();
  bool ended_by_us = false;
  for (std::size_t left = children.size(); left > 0;) {
    int status = 0;
    const bool expedited = first_failure != 0 && !ended_by_us;
    const pid_t ended = ::waitpid(-1, &status, expedited ? WNOHANG : 0);
    if (ended < 0 && errno != EINTR) break;
    if (ended == 0 && now() < patience_ends) {
      std::this_thread::sleep_for(kPoll);
    } else if (ended == 0) {
      end_all(children);
      ended_by_us = true;
    }
    const auto found = ended > 0 ? std::find(children.begin(), children.end(), ended) : children.end();
    if (found == children.end()) continue;
    *found = kEnded;
    --left;
    if (ended_by_us) continue;
    const int exit_status = judge(std::size_t(found - children.begin()), status);
    if (exit_status == 0 || first_failure != 0) continue;
    first_failure = exit_status;
    patience_ends = now() + kFarewell;
  }
  return first_failure;
}

}  // namespace

int run_forked(int processes, const std::function<int(int process, const std::string& folder)>& body) {
  share_open_row();
  auto folder = StoreFolder::make();
  if (!folder.ok()) {
    say_error(folder.status().message());
    return 1;
  }
  if (processes == 1) {
    const int exit_status = body(0, folder->path());
    folder->remove();
    return exit_status;
  }
  const pid_t parent = ::getpid();
  Children children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no one would wait for this child any more
      return ::getppid() == parent ? body(process, folder->path()) : 1;
    }
    if (child < 0) {
      say_error(fmt::format("process {} of {}: fork: {}", process, processes, std::strerror(errno)));
      end_all(children);
      for (const pid_t made : children) ::waitpid(made, nullptr, 0);
      folder->remove();
      return 1;
    }
    children.push_back(child);
  }
  const int exit_status = wait_for(std::move(children));
  folder->remove();
  return exit_status;
}

}  // namespace railweave::perf::collective
