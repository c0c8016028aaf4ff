#include "collective/forked.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "common/console.h"

namespace railweave::perf::collective {
namespace {

std::string make_folder() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "railweave-perf-XXXXXX").string();
  return ::mkdtemp(path.data()) != nullptr ? path : std::string();
}

// Whether all of them ended well.
bool wait_for(const std::vector<pid_t>& children) {
  bool good = true;
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    ::waitpid(children[i], &status, 0);
    if (WIFSIGNALED(status)) say(stderr, "process {}: killed by signal {}\n", i + 1, WTERMSIG(status));
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good;
}

void remove(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
}

// A process that outlives the ranks, however they end, and takes the folder along.
struct Cleaner {
  OwnedFd lifeline = OwnedFd();  // open in every rank
  pid_t process = -1;
};

Cleaner start_cleaner(const std::string& folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  OwnedFd watched(ends[0]);
  Cleaner cleaner{OwnedFd(ends[1]), ::fork()};
  if (cleaner.process != 0) return cleaner;
  ::setsid();  // Ctrl-C is for the ranks
  cleaner.lifeline.reset();
  char byte;
  while (::read(watched.get(), &byte, 1) < 0 && errno == EINTR) continue;
  remove(folder);
  ::_exit(0);
}

// REQUIRES: all ranks but this one have ended.
void finish(Cleaner cleaner, const std::string& folder) {
  cleaner.lifeline.reset();
  if (cleaner.process < 0) return remove(folder);
  ::waitpid(cleaner.process, nullptr, 0);
}

}  // namespace

int run_forked(int processes, const std::function<int(int process, const std::string& folder)>& body) {
  const std::string folder = make_folder();
  if (folder.empty()) {
    say(stderr, "no temporary folder could be made for the ranks to meet in\n");
    return 1;
  }
  std::fflush(nullptr);
  Cleaner cleaner = start_cleaner(folder);
  std::vector<pid_t> children;
  bool all_forked = true;
  for (int process = 1; process < processes && all_forked; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // without process 0 it would wait for nothing
      return body(process, folder);
    }
    all_forked = child > 0;
    if (all_forked) children.push_back(child);
    if (!all_forked) say(stderr, "process {} of {}: fork: {}\n", process, processes, std::strerror(errno));
  }
  if (!all_forked) {
    for (const pid_t child : children) ::kill(child, SIGKILL);
  }
  const int mine = all_forked ? body(0, folder) : 1;
  const bool others_good = wait_for(children);
  finish(std::move(cleaner), folder);
  return mine == 0 && !others_good ? 1 : mine;
}

}  // namespace railweave::perf::collective
