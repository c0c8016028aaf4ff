#include "tests/nccl/own_ports.h"

#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace railweave::nccl_test {

std::vector<sockaddr_in> own_listening_ports() {
  std::vector<sockaddr_in> found;
  DIR* const descriptors = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(descriptors)) {
    const int fd = std::atoi(entry->d_name);
    int listening = 0;
    socklen_t size = sizeof listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || !listening) continue;
    sockaddr_in address{};
    size = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 && address.sin_family == AF_INET)
      found.push_back(address);
  }
  closedir(descriptors);
  return found;
}

OwnedFd probe(const sockaddr_in& where) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) fd.reset();
  return fd;
}

}  // namespace railweave::nccl_test
