// Reading attributes of sysfs and /proc/sys, suspiciously: a file may be missing, empty, huge, unreadable (EINVAL is
// common) or nonsense. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace railweave::discovery {

// The file's first line without surrounding blanks; none when missing, unreadable or longer than any attribute we read.
std::optional<std::string> attribute_text(const std::string& file);

// The file's text as a decimal integer; none when it is anything else.
std::optional<std::int64_t> attribute_number(const std::string& file);

class Sysfs {
 public:
  explicit Sysfs(std::string root) : root_(std::move(root)) {}

  // As attribute_text() and attribute_number().
  std::optional<std::string> text(const std::string& path) const { return attribute_text(on_host(path)); }
  std::optional<std::int64_t> number(const std::string& path) const { return attribute_number(on_host(path)); }

  // Where `path` really lies, as "/sys/...", all links followed; empty when it does not exist or leads out of sysfs.
  std::string real_path(const std::string& path) const;

  bool exists(const std::string& path) const;

 private:
  std::string on_host(const std::string& path) const;

  std::string root_;
};

}  // namespace railweave::discovery
