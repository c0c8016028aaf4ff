// A second process: this program again, in one of the roles below, with a channel to the test.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/nccl/channel.h"

namespace railweave::nccl_test {

// The function that `--role=NAME` runs. Returns the exit status, or throws Failure.
using Role = int (*)(Channel& to_test, const std::string& argument);
const std::map<std::string, Role>& roles();

// The options of the command line.
struct Options {
  std::string plugin;  // the library under test
  int leaves = 0;      // how often the peer leaves by _exit; 0: the test decides
  std::string wire;    // that every lane of --job must go by; empty: any
};
const Options& options();

class Peer {
 public:
  // `environment`: changes to this process's variables: "NAME=value" sets one, "NAME=" unsets one.
  Peer(const std::string& role, const std::string& argument, const std::vector<std::string>& environment = {});
  ~Peer();  // kills the process if it still runs

  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  // Waits at most `timeout_s`. Throws Failure unless the process exited with `status`.
  void expect_exit(int status = 0, int timeout_s = 60);

 private:
  Peer(std::pair<Channel, Channel> ends, const std::string& role, const std::string& argument,
       const std::vector<std::string>& environment);
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace railweave::nccl_test
