// A second process: this program again, playing one of the roles below, with a channel to the test.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/nccl/channel.h"

namespace railweave::nccl_test {

// What `--role=NAME` runs; throws Failure, or gives the exit status.
using Role = int (*)(Channel& to_test, const std::string& argument);
const std::map<std::string, Role>& roles();

// What the command line said.
struct Options {
  std::string plugin;  // the library under test
  int leaves = 0;      // how often the peer leaves by _exit; 0: as often as the test thinks right
};
const Options& options();

class Peer {
 public:
  // `environment`: "NAME=value" to set, "NAME=" to unset, on top of ours.
  Peer(const std::string& role, const std::string& argument, const std::vector<std::string>& environment = {});
  ~Peer();  // kills it if it still runs

  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  // Waits at most `timeout_s`; throws Failure unless it exited with `status`.
  void expect_exit(int status = 0, int timeout_s = 60);

 private:
  Peer(std::pair<Channel, Channel> ends, const std::string& role, const std::string& argument,
       const std::vector<std::string>& environment);
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace railweave::nccl_test
