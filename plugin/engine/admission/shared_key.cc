#include "engine/admission/shared_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/scope_exit.h"

namespace railweave::engine {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Status unfit(const std::string& path, const std::string& what, int err = 0) {
  return Status(Code::invalid_config, Scope::engine, "RAILWEAVE_KEY_FILE=" + path + ": " + what, err);
}

Status unfit(const std::string& path, const char* call, int err) {
  return unfit(path, std::string(system_error(Scope::engine, call, err).message()), err);
}

// True if `group` is the group of this process, or one of its supplementary groups.
bool in_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(std::size_t(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(int(groups.size()), groups.data());
  groups.resize(std::size_t(std::max(count, 0)));
  return std::ranges::find(groups, group) != groups.end();
}

// Checks that nobody but root, our user and one of our groups may read the file. Root gives a file to a group on
// purpose: a Secret in a pod that is not root belongs to root and to the pod's fsGroup, and has mode 0440.
Status check_mode(const std::string& path, const struct stat& file) {
  const mode_t for_group_and_others = file.st_mode & 077;
  if (for_group_and_others == 0) return {};
  const std::string found = fmt::format("mode {:04o}", unsigned(file.st_mode & 07777));
  constexpr const char* kNothing = "expected nothing for group and others (chmod 600)";
  if (for_group_and_others != 040 || file.st_uid != 0) return unfit(path, fmt::format("{}, {}", found, kNothing));
  if (in_group(file.st_gid)) return {};
  return unfit(path,
               fmt::format("{} for group {}, to which this process does not belong; {}", found, file.st_gid, kNothing));
}

Status check_file(const std::string& path, const struct stat& file) {
  if (!S_ISREG(file.st_mode))
    return unfit(path, std::string("found ") + kind_of(file.st_mode) + ", expected a regular file");
  if (file.st_uid != 0 && file.st_uid != ::geteuid())
    return unfit(path, "owned by user " + std::to_string(file.st_uid) + ", expected our own, " +
                           std::to_string(::geteuid()) + ", or root");
  return check_mode(path, file);
}

}  // namespace

Result<SharedKey> SharedKey::read(const std::string& path) {
  // O_NONBLOCK: opening a pipe without a writer would wait.
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat file {};
  if (const int err = errno; !fd) {
    if (err == ENXIO && ::stat(path.c_str(), &file) == 0) RW_TRY(check_file(path, file));  // open() of a socket fails
    const std::string found(system_error(Scope::engine, "open", err).message());
    const bool path_is_wrong = err == ENOENT || err == EACCES || err == ENOTDIR;
    return unfit(
        path,
        found + (path_is_wrong ? "; expected a file with a key that this process may read, and nobody else (chmod 600)"
                               : ""),
        err);
  }
  if (::fstat(fd.get(), &file) != 0) return unfit(path, "fstat", errno);
  RW_TRY(check_file(path, file));
  std::array<std::byte, kBytesMax + 2> text;  // one byte for a newline, one to detect a longer key
  const ScopeExit clean([&] { wipe(text); });
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + bytes, text.size() - bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unfit(path, "read", errno);
    if (n == 0) break;
    bytes += std::size_t(n);
  }
  if (bytes > 0 && text[bytes - 1] == std::byte{'\n'}) --bytes;
  if (bytes < kBytesMin || bytes > kBytesMax)
    return unfit(path, (bytes > kBytesMax ? "more than 4096" : std::to_string(bytes)) +
                           " bytes (a newline at the end does not count), expected 16 to 4096");
  return of(std::span(text).first(bytes));
}

Result<SharedKey> SharedKey::of(std::span<const std::byte> text) {
  // The text is not the HMAC's own key, which HMAC fills up with zeroes: texts that differ only in zeroes at the end
  // would be one key.
  Result<Tag> extracted = tag_of(std::as_bytes(std::span("railweave", 9)), "railweave key 1", {text});
  if (!extracted.ok()) return extracted.status();
  const ScopeExit clean([&] { wipe(*extracted); });
  return SharedKey(Secret(*extracted));
}

}  // namespace railweave::engine
