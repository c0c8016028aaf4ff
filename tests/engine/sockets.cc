#include "sockets.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace railweave::engine_test {

std::set<int> connections() {
  std::set<int> found;
  DIR* dir = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
      found.insert(fd);
  }
  closedir(dir);
  return found;
}

// Calls the kernel directly: the thread sanitizer takes connect() for the creation of the descriptor.
void reset_connection(int fd) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  syscall(SYS_connect, fd, &nobody, sizeof nobody);
}

int family_of(int fd) {
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size);
  return here.ss_family;
}

std::size_t lanes_of(const Engine& engine) {
  const EngineStats stats = engine.stats();
  if (stats.sessions.empty()) return 0;
  return std::size_t(std::ranges::count(stats.sessions.front().lanes, false, &LaneStats::closed));
}

}  // namespace railweave::engine_test
