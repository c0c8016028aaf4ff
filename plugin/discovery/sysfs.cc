#include "discovery/sysfs.h"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/fd.h"

namespace railweave::discovery {
namespace {

constexpr std::size_t kTextBytesMax = 256;
constexpr std::string_view kSys = "/sys";

}  // namespace

std::string Sysfs::on_host(const std::string& path) const { return root_ + path.substr(kSys.size()); }

std::optional<std::string> attribute_text(const std::string& file) {
  const OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return std::nullopt;
  std::array<char, kTextBytesMax + 1> buffer;
  const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
  if (n < 0 || static_cast<std::size_t>(n) > kTextBytesMax) return std::nullopt;
  std::string_view line(buffer.data(), static_cast<std::size_t>(n));
  line = line.substr(0, line.find('\n'));
  const auto first = line.find_first_not_of(" \t\r");
  if (first == line.npos) return std::string();
  return std::string(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
}

std::optional<std::int64_t> attribute_number(const std::string& file) {
  const std::optional<std::string> digits = attribute_text(file);
  if (!digits) return std::nullopt;
  std::int64_t value;
  const char* const end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string Sysfs::real_path(const std::string& path) const {
  std::error_code error;
  const std::string root = std::filesystem::canonical(root_, error).string();
  if (error) return {};
  const std::string real = std::filesystem::canonical(on_host(path), error).string();
  if (error || real.compare(0, root.size() + 1, root + "/") != 0) return {};
  return std::string(kSys) + real.substr(root.size());
}

bool Sysfs::exists(const std::string& path) const { return ::access(on_host(path).c_str(), F_OK) == 0; }

}  // namespace railweave::discovery
