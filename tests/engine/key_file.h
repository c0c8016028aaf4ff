// A temporary file for RAILWEAVE_KEY_FILE; its destructor removes it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace railweave::engine_test {

inline constexpr char kSomeKey[] = "some key of enough bytes\n";

class KeyFile {
 public:
  explicit KeyFile(std::string_view text = kSomeKey, mode_t mode = 0600) {
    const int fd = mkostemp(path_.data(), O_CLOEXEC);
    if (fd < 0) return;
    written_ = write(fd, text.data(), text.size()) == ssize_t(text.size()) && fchmod(fd, mode) == 0;
    close(fd);
  }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  ~KeyFile() { unlink(path_.c_str()); }

  const std::string& path() const { return path_; }
  explicit operator bool() const { return written_; }

 private:
  std::string path_ = "/tmp/railweave-key-XXXXXX";
  bool written_ = false;
};

}  // namespace railweave::engine_test
