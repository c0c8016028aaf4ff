#include "engine/admission/shared_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

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

Status check_file(const std::string& path, const struct stat& file) {
  if (!S_ISREG(file.st_mode))
    return unfit(path, std::string("found ") + kind_of(file.st_mode) + ", expected a regular file");
  if (file.st_uid != 0 && file.st_uid != ::geteuid())
    return unfit(path, "owned by user " + std::to_string(file.st_uid) + ", expected our own, " +
                           std::to_string(::geteuid()) + ", or root");
  if ((file.st_mode & 077) == 0) return {};
  std::array<char, 8> mode{};
  (void)std::snprintf(mode.data(), mode.size(), "%04o", unsigned(file.st_mode & 07777));
  return unfit(path, std::string("mode ") + mode.data() + ", expected nothing for group and others (chmod 600)");
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
