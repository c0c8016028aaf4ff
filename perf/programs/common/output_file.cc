#include "common/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/fd.h"

namespace railweave::perf {
namespace {

// Returns the descriptor that "/dev/stdout" or "/dev/fd/5" names, or -1. Opening by name would truncate the file behind
// it.
int descriptor_named(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    int fd = -1;
    const char* const end = path.data() + path.size();
    if (path.starts_with(folder) && std::from_chars(path.data() + folder.size(), end, fd).ptr == end) return fd;
  }
  return -1;
}

bool can_be_written(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

// The temporary name, which is renamed to `path` in the end.
std::string beside(const std::string& path) { return fmt::format("{}.{}.part", path, ::getpid()); }

Result<OwnedFd> make_beside(const std::string& path) {
  OwnedFd made(::open(beside(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!made) return system_error(Scope::request, "cannot write " + path);
  return made;
}

// Returns the file's name behind all symbolic links. The file need not exist.
Result<std::string> file_behind(const std::string& path) {
  if (path.empty()) return Status(Code::invalid_argument, Scope::request, "found '', expected the name of a file");
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return path;
    return system_error(Scope::request, "cannot write " + path);
  }
  if (S_ISDIR(found.st_mode)) {
    return Status(Code::invalid_argument, Scope::request, path + " is a directory, expected a file");
  }
  if (::access(path.c_str(), W_OK) != 0) return system_error(Scope::request, "cannot write " + path);
  std::error_code error;
  const auto behind = std::filesystem::canonical(path, error);
  return error ? path : behind.string();
}

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(Scope::request, "cannot write " + path);
    text.remove_prefix(std::size_t(n));
  }
  return {};
}

Status write_stream(const std::string& path, std::string_view text) {
  std::fflush(stdout);
  if (const int fd = descriptor_named(path); fd >= 0) return write_all(fd, text, path);
  const OwnedFd opened(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!opened) return system_error(Scope::request, "cannot write " + path);
  return write_all(opened.get(), text, path);
}

}  // namespace

bool is_stream(const std::string& path) {
  struct stat found;
  if (descriptor_named(path) >= 0) return true;
  return ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

Status check_output_file(const std::string& path) {
  if (const int fd = descriptor_named(path); fd >= 0) {
    return can_be_written(fd) ? Status() : system_error(Scope::request, "cannot write " + path, EBADF);
  }
  RW_ASSIGN_OR_RETURN(const std::string file, file_behind(path));
  if (is_stream(path)) return {};
  RW_TRY(make_beside(file));
  ::unlink(beside(file).c_str());
  return {};
}

Status write_output_file(const std::string& path, std::string_view text) {
  if (is_stream(path)) return write_stream(path, text);
  RW_ASSIGN_OR_RETURN(const std::string file, file_behind(path));
  RW_ASSIGN_OR_RETURN(OwnedFd made, make_beside(file));
  Status status = write_all(made.get(), text, path);
  if (::close(made.release()) != 0 && status.ok()) status = system_error(Scope::request, "cannot write " + path);
  if (status.ok() && ::rename(beside(file).c_str(), file.c_str()) != 0) {
    status = system_error(Scope::request, "cannot write " + path);
  }
  if (!status.ok()) ::unlink(beside(file).c_str());
  return status;
}

}  // namespace railweave::perf
