#include "collective/forked.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

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
    if (WIFSIGNALED(status)) fmt::print(stderr, "process {}: killed by signal {}\n", i + 1, WTERMSIG(status));
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good;
}

}  // namespace

int run_forked(int processes, const std::function<int(int process, const std::string& folder)>& body) {
  const std::string folder = make_folder();
  if (folder.empty()) {
    fmt::print(stderr, "no temporary folder could be made for the ranks to meet in\n");
    return 1;
  }
  std::fflush(nullptr);
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
  }
  if (!all_forked) {
    fmt::print(stderr, "fork: no more processes\n");
    for (const pid_t child : children) ::kill(child, SIGKILL);
  }
  const int mine = all_forked ? body(0, folder) : 1;
  const bool others_good = wait_for(children);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return mine == 0 && !others_good ? 1 : mine;
}

}  // namespace railweave::perf::collective
