// Text for people, on stdout and stderr. A full disk or a closed pipe does not end the program half way, as the
// exceptions of fmt::print would, but makes its exit status 1.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace railweave::perf {

// The stream remembers a failed write (ferror). Threads: any; the text of one call stays together.
template <class... Args>
void say(std::FILE* where, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), where);
}
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say(stdout, format, std::forward<Args>(args)...);
}

// Opens /dev/null on each of the descriptors 0 to 2 that is closed, so that none of the program's own files becomes its
// stdout. Opened in the wrong direction: printing to a closed stream stays an error. REQUIRES: main() calls this first.
inline void occupy_standard_streams() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

// Returns `status`, or 1 if `status` is 0 and stdout was not written completely. REQUIRES: main() calls this last.
inline int status_of_output(int status) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (written) return status;
  say(stderr, "what was printed is not complete: standard output: {}\n",
      errno ? std::strerror(errno) : "a write failed");
  return status == 0 ? 1 : status;
}

}  // namespace railweave::perf
