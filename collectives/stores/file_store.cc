#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "collectives/store.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kLookEvery = std::chrono::milliseconds(2);

// A file per key. Written beside it and renamed, so that a reader sees all of a value or nothing.
class FileStore final : public Store {
 public:
  explicit FileStore(std::string folder) : folder_(std::move(folder)) {}

  Status set(const std::string& key, const std::string& value) override {
    static std::atomic<unsigned> serial{0};
    const std::string path = path_of(key), draft = fmt::format("{}.draft-{}-{}", path, ::getpid(), serial++);
    OwnedFd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return system_error(Scope::engine, "open(" + draft + ")");
    for (std::size_t at = 0; at < value.size();) {
      const ssize_t n = ::write(fd.get(), value.data() + at, value.size() - at);
      if (n < 0 && errno != EINTR) return system_error(Scope::engine, "write(" + draft + ")");
      if (n > 0) at += std::size_t(n);
    }
    if (::rename(draft.c_str(), path.c_str()) != 0) return system_error(Scope::engine, "rename to " + path);
    return {};
  }

  Result<std::string> get(const std::string& key, Nanos timeout) override {
    const TimePoint give_up = deadline_after(timeout);
    for (;;) {
      OwnedFd fd(::open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC));
      if (fd) return read_all(fd, key);
      if (errno != ENOENT) return system_error(Scope::engine, "open(" + path_of(key) + ")");
      if (now() >= give_up)
        return Status(Code::timed_out, Scope::engine,
                      fmt::format("nobody set '{}' in {} within {:g} s", key, folder_, double(timeout.count()) / 1e9));
      std::this_thread::sleep_for(std::min<Nanos>(kLookEvery, give_up - now()));
    }
  }

  Status remove(const std::string& key) override {
    if (::unlink(path_of(key).c_str()) != 0 && errno != ENOENT) return system_error(Scope::engine, "unlink(" + path_of(key) + ")");
    return {};
  }

 private:
  // Any key is a file name: what may not stand in one is written as %XX.
  std::string path_of(const std::string& key) const {
    std::string path = folder_ + "/";
    for (const char c : key) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      path += plain ? std::string(1, c) : fmt::format("%{:02x}", unsigned(static_cast<unsigned char>(c)));
    }
    return path;
  }

  Result<std::string> read_all(const OwnedFd& fd, const std::string& key) const {
    std::string value;
    char part[4096];
    for (;;) {
      const ssize_t n = ::read(fd.get(), part, sizeof part);
      if (n == 0) return value;
      if (n < 0 && errno != EINTR) return system_error(Scope::engine, "read(" + path_of(key) + ")");
      if (n > 0) value.append(part, std::size_t(n));
    }
  }

  const std::string folder_;
};

}  // namespace

Result<std::unique_ptr<Store>> file_store(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return system_error(Scope::engine, "mkdir(" + folder + ")");
  struct stat about;
  if (::stat(folder.c_str(), &about) != 0) return system_error(Scope::engine, "stat(" + folder + ")");
  if (!S_ISDIR(about.st_mode)) return Status(Code::invalid_argument, Scope::engine, folder + " is not a folder");
  return std::unique_ptr<Store>(std::make_unique<FileStore>(folder));
}

}  // namespace railweave::collectives
