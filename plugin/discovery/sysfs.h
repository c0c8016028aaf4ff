// Reads attributes of sysfs and /proc/sys. A file may be missing, empty, huge, unreadable (EINVAL is common) or
// malformed. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace railweave::discovery {

// Returns the file's first line without surrounding blanks; nullopt if the file is missing, unreadable or longer than
// 256 bytes.
std::optional<std::string> attribute_text(const std::string& file);

// Returns the file's text as a decimal integer; nullopt for any other content.
std::optional<std::int64_t> attribute_number(const std::string& file);

// sysfs mounted at `root`. Paths are written as on a real host: "/sys/class/net/...".
class Sysfs {
 public:
  explicit Sysfs(std::string root) : root_(std::move(root)) {}

  // As attribute_text() and attribute_number(), for a path in sysfs.
  std::optional<std::string> text(const std::string& path) const { return attribute_text(on_host(path)); }
  std::optional<std::int64_t> number(const std::string& path) const { return attribute_number(on_host(path)); }

  // Returns `path` with all symbolic links resolved, as "/sys/..."; empty if it does not exist or leads out of sysfs.
  std::string real_path(const std::string& path) const;

  bool exists(const std::string& path) const;

 private:
  std::string on_host(const std::string& path) const;

  std::string root_;
};

}  // namespace railweave::discovery
