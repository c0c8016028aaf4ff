// Text for people, on stdout and stderr. A full disk or a closed pipe is no reason to die half way (fmt::print throws),
// and no success either.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace railweave::perf {

// What could not be written is remembered by the stream. Any thread; one call's text stays together.
template <class... Args>
void say(std::FILE* where, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), where);
}
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say(stdout, format, std::forward<Args>(args)...);
}

// The first thing main() does: takes those of descriptors 0 to 2 that are closed, or a pipe of the program's own would
// be its stdout. Opened the wrong way round: printing to what was closed stays an error.
inline void occupy_standard_streams() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

// The last thing main() does: `status`, or 1 where it is 0 and not all of stdout was written.
inline int status_of_output(int status) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (written) return status;
  say(stderr, "what was printed is not complete: standard output: {}\n",
      errno ? std::strerror(errno) : "a write failed");
  return status == 0 ? 1 : status;
}

}  // namespace railweave::perf
