#include "engine/stats/stats_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/error.h"
#include "base/local_socket.h"
#include "base/sealed_memory.h"
#include "engine/stats/stats_json.h"
#include "engine/stats/stats_socket.h"

namespace railweave::engine {
namespace {

constexpr int kClientsWaitingMax = 8;
constexpr time_t kStaleAfterSeconds = 10;  // a younger file may be between its creation and its socket

// Removes this user's sockets in `dir` that have no server any more. Tests by a datagram connect, which a server does
// not notice: EPROTOTYPE where a server lives, ECONNREFUSED where none does.
void remove_stale(const std::string& dir) {
  for (const std::string& path : stats_sockets(dir)) {
    struct stat file;
    if (::lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode) || file.st_uid != ::geteuid()) continue;
    if (::time(nullptr) - file.st_mtime < kStaleAfterSeconds) continue;
    const OwnedFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const Result<sockaddr_un> address = socket_address(path);
    if (!probe || !address.ok()) return;
    const auto* to = reinterpret_cast<const sockaddr*>(&address.value());
    if (::connect(probe.get(), to, sizeof(sockaddr_un)) != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
  }
}

Result<OwnedFd> memory_file(const std::string& text) {
  RW_ASSIGN_OR_RETURN(OwnedFd file, make_sealed_memory(text.size(), "railweave-stats"));
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n <= 0) return system_error(Scope::request, "write(memory file)");
    done += static_cast<std::size_t>(n);
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<StatsServer>> StatsServer::open(const std::string& dir, const std::string& instance_hex) {
  const std::string path = stats_socket_path(dir, ::getpid(), instance_hex);
  RW_ASSIGN_OR_RETURN(const sockaddr_un address, socket_address(path));
  remove_stale(dir);
  OwnedFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return system_error(Scope::request, "socket(AF_UNIX)");
  // before bind(), so that the file never has another mode
  if (::fchmod(listener.get(), 0600) != 0) return system_error(Scope::request, "fchmod(unix socket)");
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return system_error(Scope::request, fmt::format("bind({})", path));
  }
  std::unique_ptr<StatsServer> server(new StatsServer(std::move(listener), path));
  if (::listen(server->descriptor(), kClientsWaitingMax) != 0) {
    return system_error(Scope::request, fmt::format("listen({})", path));
  }
  return server;
}

StatsServer::StatsServer(OwnedFd listener, std::string path)
    : listener_(std::move(listener)), path_(std::move(path)), owner_(::getpid()) {}

StatsServer::~StatsServer() {
  if (::getpid() == owner_) ::unlink(path_.c_str());
}

Status StatsServer::serve(const std::function<EngineStats()>& ask) {
  RW_ASSIGN_OR_RETURN(const OwnedFd client, accept_local(listener_.get()));
  if (!client) return {};
  constexpr std::array<std::byte, 1> kMark{std::byte{'J'}};
  if (const Result<OwnedFd> file = memory_file(to_json(ask())); file.ok())
    (void)send_with_fd(client.get(), kMark, file.value().get());
  return {};
}

}  // namespace railweave::engine
