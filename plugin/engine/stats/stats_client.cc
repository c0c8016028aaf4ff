#include "engine/stats/stats_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/local_socket.h"
#include "engine/stats/stats_json.h"
#include "engine/stats/stats_socket.h"

namespace railweave::engine {
namespace {

constexpr off_t kAnswerBytesMax = 256 * static_cast<off_t>(MiB);

Status no_answer(const std::string& path) {
  return Status(Code::timed_out, Scope::request, fmt::format("{}: no answer; is the process stopped?", path));
}

Result<OwnedFd> dial(const std::string& path) {
  RW_ASSIGN_OR_RETURN(const sockaddr_un address, socket_address(path));
  OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(Scope::request, "socket(AF_UNIX)");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EAGAIN) return no_answer(path);  // clients before this one fill the queue, even those that have left
    return system_error(Scope::request, fmt::format("connect({})", path));
  }
  return fd;
}

Status wait_readable(int fd, const std::string& path, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now()).count();
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<decltype(left)>(left, 0)));
    if (ready > 0) return Status();
    if (ready < 0 && errno != EINTR) return system_error(Scope::request, "poll");
    if (now() >= deadline) return no_answer(path);
  }
}

Status nonsense(const std::string& path, const char* what) {
  return Status(Code::remote, Scope::request, fmt::format("{}: {}", path, what));
}

Result<OwnedFd> receive_file(int fd, const std::string& path) {
  std::array<std::byte, 1> mark{};
  OwnedFd file;
  if (recv_with_fd(fd, mark, file) < 0) return system_error(Scope::request, fmt::format("recvmsg({})", path));
  if (!file) return nonsense(path, "closed without an answer");
  return file;
}

Result<std::string> read_whole(int file, const std::string& path) {
  struct stat about;
  if (::fstat(file, &about) != 0) return system_error(Scope::request, "fstat(answer)");
  if (about.st_size > kAnswerBytesMax) return nonsense(path, "the answer is implausibly long");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::pread(file, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) return nonsense(path, "the answer is cut short");
    done += static_cast<std::size_t>(n);
  }
  return text;
}

}  // namespace

Result<pid_t> stats_owner(const std::string& path) {
  RW_ASSIGN_OR_RETURN(const OwnedFd fd, dial(path));
  ucred peer;
  socklen_t length = sizeof(peer);
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return system_error(Scope::request, fmt::format("getsockopt(SO_PEERCRED, {})", path));
  }
  return peer.pid;
}

Result<EngineStats> fetch_stats(const std::string& path, Nanos patience) {
  const TimePoint deadline = now() + patience;
  RW_ASSIGN_OR_RETURN(const OwnedFd fd, dial(path));
  RW_TRY(wait_readable(fd.get(), path, deadline));
  RW_ASSIGN_OR_RETURN(const OwnedFd file, receive_file(fd.get(), path));
  RW_ASSIGN_OR_RETURN(const std::string text, read_whole(file.get(), path));
  return stats_from_json(text);
}

}  // namespace railweave::engine
