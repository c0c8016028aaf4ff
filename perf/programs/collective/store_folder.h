// A folder with the store of the ranks of one machine.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::perf::collective {

// Holders are this process and the processes forked from it since. A cleaner process removes the folder when the last
// holder has ended, however it ends. Threads: one.
class StoreFolder {
 public:
  // Makes an empty folder. REQUIRES: no other thread runs. Errors: system.
  static Result<StoreFolder> make();
  const std::string& path() const { return path_; }
  // Returns when the folder is gone. REQUIRES: the other holders have ended.
  void remove();

 private:
  std::string path_;
  OwnedFd lifeline_;  // open in every holder; its end of file starts the cleaner
  pid_t cleaner_ = -1;
};

}  // namespace railweave::perf::collective
