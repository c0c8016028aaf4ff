// A folder that the ranks of one machine meet in.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::perf::collective {

// Gone with the last process that holds it (this one, and those forked since), however that ends: a process of its own
// waits for that. One thread.
class MeetingFolder {
 public:
  // Empty at first. REQUIRES: no thread runs. Errors: system.
  static Result<MeetingFolder> make();
  const std::string& path() const { return path_; }
  // Returns when it is gone. REQUIRES: the others that held it have ended.
  void remove();

 private:
  std::string path_;
  OwnedFd lifeline_;  // open in every process that holds it
  pid_t cleaner_ = -1;
};

}  // namespace railweave::perf::collective
