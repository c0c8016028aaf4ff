#include "forked.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace railweave::engine_test {

bool Wire::say(const void* data, std::size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = send(fd_.get(), p, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= std::size_t(n);
  }
  return true;
}

bool Wire::receive(void* data, std::size_t bytes) {
  char* p = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = recv(fd_.get(), p, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    bytes -= std::size_t(n);
  }
  return true;
}

Forked::Forked(const std::function<int(Wire&)>& body) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
  OwnedFd ours(pair[0]), theirs(pair[1]);
  pid_ = fork();
  if (pid_ == 0) {
    ours.reset();
    Wire wire(std::move(theirs));
    _exit(body(wire));
  }
  wire_.emplace(std::move(ours));
}

Forked::~Forked() {
  if (pid_ < 0) return;
  kill(SIGKILL);
  (void)wait();
}

void Forked::kill(int signal) {
  if (pid_ > 0) ::kill(pid_, signal);
}

void Forked::stop() {
  kill(SIGSTOP);
  while (pid_ > 0 && waitpid(pid_, nullptr, WUNTRACED) < 0 && errno == EINTR) {
  }
}

int Forked::wait() {
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace railweave::engine_test
