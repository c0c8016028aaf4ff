#include "base/core_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/fd.h"

namespace railweave {

std::optional<Nanos> core_wait() {
  const OwnedFd fd(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  char text[96];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text) : 0;
  const std::string_view line(text, n > 0 ? std::size_t(n) : 0);
  const std::size_t space = line.find(' ');
  if (space == line.npos) return {};
  std::int64_t waited_ns = 0;
  if (std::from_chars(line.data() + space + 1, line.data() + line.size(), waited_ns).ec != std::errc{}) return {};
  return Nanos(waited_ns);
}

}  // namespace railweave
