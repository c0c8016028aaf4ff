#include "collective/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace railweave::perf::collective {
namespace {

void remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

}  // namespace

Result<StoreFolder> StoreFolder::make() {
  std::error_code error;
  StoreFolder folder;
  folder.path_ = (std::filesystem::temp_directory_path(error) / "railweave-perf-XXXXXX").string();
  if (error) return Status(Code::system, Scope::request, "TMPDIR: found no folder, expected one to meet in");
  if (::mkdtemp(folder.path_.data()) == nullptr) {
    return system_error(
        Scope::request,
        "no folder for the ranks to meet in could be made (TMPDIR names one that can be written to), " + folder.path_);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return folder;
  OwnedFd watched(ends[0]);
  folder.lifeline_.reset(ends[1]);
  std::fflush(nullptr);
  folder.cleaner_ = ::fork();
  if (folder.cleaner_ != 0) return folder;
  ::setsid();  // keeps Ctrl-C from the cleaner; only the ranks get it
  folder.lifeline_.reset();
  char byte;
  while (::read(watched.get(), &byte, 1) < 0 && errno == EINTR) continue;
  remove_folder(folder.path_);
  ::_exit(0);
}

void StoreFolder::remove() {
  lifeline_.reset();
  if (cleaner_ < 0) return remove_folder(path_);
  ::waitpid(cleaner_, nullptr, 0);
}

}  // namespace railweave::perf::collective
