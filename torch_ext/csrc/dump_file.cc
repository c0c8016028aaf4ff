#include "torch_ext/csrc/dump_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace railweave::torch_ext {
namespace {

constexpr int kNumbersMost = 1000;  // tries; another process of the same host, pid and rank may have left files

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(Scope::request, "write " + path);
    text.remove_prefix(std::size_t(written));
  }
  return {};
}

// Some file systems (NFS) report here that the text did not arrive.
Status close_checked(OwnedFd file, const std::string& path) {
  if (::close(file.release()) != 0) return system_error(Scope::request, "close " + path);
  return {};
}

bool fits_file_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
}

}  // namespace

Status make_dump_folder(const std::string& folder) {
  const std::string what = "make the folder " + folder;
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return system_error(Scope::request, what);
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) return system_error(Scope::request, what);
  return S_ISDIR(found.st_mode) ? Status() : system_error(Scope::request, what, ENOTDIR);
}

std::string host_in_file_names() {
  char name[65] = "";
  (void)::gethostname(name, sizeof name - 1);
  std::string host = name;
  std::ranges::replace_if(
      host, [](char c) { return !fits_file_names(c); }, '-');
  return host.empty() ? "host" : host;
}

Result<std::string> write_dump_file(const std::string& folder, const std::string& stem, std::atomic<int>& number,
                                    std::string_view text) {
  RW_TRY(make_dump_folder(folder));
  std::string path;
  OwnedFd file;
  for (int tries = 0; !file && tries < kNumbersMost; ++tries) {
    path = folder + "/" + stem + "-" + std::to_string(number++) + ".json";
    file.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno != EEXIST) break;
  }
  if (!file) return system_error(Scope::request, "make the file " + path);
  Status written = write_all(file.get(), text, path);
  if (written.ok()) written = close_checked(std::move(file), path);
  if (written.ok()) return path;
  (void)::unlink(path.c_str());
  return written;
}

}  // namespace railweave::torch_ext
