// A Store in a folder that all ranks see: one file per key.
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/mutex.h"
#include "base/process_origin.h"
#include "collectives/rendezvous/store.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kPollEvery = std::chrono::milliseconds(2);

// Store with one file per key. A value is written to a draft file and renamed: readers see a whole value or none.
class FileStore final : public Store {
 public:
  explicit FileStore(std::string folder) : folder_(std::move(folder)) {}
  ~FileStore() override {
    if (origin_.in_child()) {  // the claims are the parent's, and fork may have interrupted a change of the map
      (void)claims_.release();
      return;
    }
    for (const auto& [key, held] : *claims_) ::unlink(claim_path(key).c_str());
  }

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
      std::this_thread::sleep_for(std::min<Nanos>(kPollEvery, give_up - now()));
    }
  }

  Status remove(const std::string& key) override {
    if (::unlink(path_of(key).c_str()) != 0 && errno != ENOENT)
      return system_error(Scope::engine, "unlink(" + path_of(key) + ")");
    return {};
  }

  // Locks a file beside the keys: the kernel frees the lock when the process ends in any way.
  Status claim(const std::string& key) override {
    if (origin_.in_child())
      return Status(Code::internal, Scope::engine,
                    fmt::format("this process was forked: only the parent can claim '{}' in {}", key, folder_));
    const MutexLock lock(mutex_);
    if (const auto held = claims_->find(key); held != claims_->end()) return ++held->second.times, Status();
    const std::string path = claim_path(key);
    for (;;) {
      OwnedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      if (!fd) return system_error(Scope::engine, "open(" + path + ")");
      const bool locked = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
      if (!locked && errno == EINTR) continue;
      if (!locked && errno == EWOULDBLOCK)
        return Status(Code::exhausted, Scope::engine, fmt::format("somebody else holds '{}' in {}", key, folder_));
      if (locked && !is_there(fd, path)) continue;     // the holder has just unlinked the file
      claims_->emplace(key, Claim{std::move(fd), 1});  // kept unlocked where flock is unsupported
      return {};
    }
  }

  void release(const std::string& key) override {
    if (origin_.in_child()) return;
    const MutexLock lock(mutex_);
    const auto held = claims_->find(key);
    if (held == claims_->end() || --held->second.times > 0) return;
    ::unlink(claim_path(key).c_str());  // while locked: a claim() that opened it before tries again
    claims_->erase(held);
  }

 private:
  struct Claim {
    OwnedFd file;
    int times = 0;
  };
  using Claims = std::map<std::string, Claim>;

  // Returns the file of a key. All characters except letters, digits, '-' and '_' are written as %xx.
  std::string path_of(const std::string& key) const {
    std::string path = folder_ + "/";
    for (const char c : key) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      path += plain ? std::string(1, c) : fmt::format("%{:02x}", unsigned(static_cast<unsigned char>(c)));
    }
    return path;
  }

  // Returns the lock file of a key. No key's file has this name: '.' in a key is written as %2e.
  std::string claim_path(const std::string& key) const { return path_of(key) + ".claim"; }

  // Returns whether `path` still names the open file `fd`.
  static bool is_there(const OwnedFd& fd, const std::string& path) {
    struct stat ours, named;
    return ::fstat(fd.get(), &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
           ours.st_ino == named.st_ino;
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
  const ProcessOrigin origin_;
  Mutex mutex_;
  std::unique_ptr<Claims> claims_ RW_GUARDED_BY(mutex_) = std::make_unique<Claims>();
};

}  // namespace

Result<std::unique_ptr<Store>> file_store(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(Scope::engine, "mkdir(" + folder + ")");
  struct stat about;
  if (::stat(folder.c_str(), &about) != 0) return system_error(Scope::engine, "stat(" + folder + ")");
  if (!S_ISDIR(about.st_mode)) return Status(Code::invalid_argument, Scope::engine, folder + " is not a folder");
  return std::unique_ptr<Store>(std::make_unique<FileStore>(folder));
}

}  // namespace railweave::collectives
