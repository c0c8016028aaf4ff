#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "base/error.h"
#include "base/named_socket.h"
#include "collectives/store.h"
#include "collectives/stores/store_frames.h"
#include "collectives/stores/store_server.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kGrace = std::chrono::seconds(5);  // beyond what the server was asked to wait

class TcpStore final : public Store {
 public:
  TcpStore(std::string place, OwnedFd fd, std::unique_ptr<StoreServer> server)
      : place_(std::move(place)), server_(std::move(server)), fd_(std::move(fd)) {}

  Status set(const std::string& key, const std::string& value) override {
    return ask({StoreRequest::Kind::set, 0, key, value}).status();
  }

  Result<std::string> get(const std::string& key, Nanos timeout) override {
    const auto ms = std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count(), 0, 0x7fffffff);
    auto answer = ask({StoreRequest::Kind::get, std::uint32_t(ms), key, ""});
    if (!answer.ok()) return answer.status();
    if (answer->front() != 1)
      return Status(Code::timed_out, Scope::engine,
                    fmt::format("nobody set '{}' in the store at {} within {:g} s", key, place_, double(timeout.count()) / 1e9));
    return answer->substr(1);
  }

  Status remove(const std::string& key) override { return ask({StoreRequest::Kind::remove, 0, key, ""}).status(); }

 private:
  // One question at a time; a get that waits holds up the others of this rank.
  Result<std::string> ask(const StoreRequest& request) {
    if (request.key.size() + request.value.size() > kFrameBytesMax - 64)
      return Status(Code::invalid_argument, Scope::request, fmt::format("'{}' has a value of {} bytes, more than {}", request.key,
                                                                        request.value.size(), kFrameBytesMax / 2));
    const std::lock_guard lock(mutex_);
    if (!broken_.ok()) return broken_;
    auto answer = exchange(encode(request), now() + std::chrono::milliseconds(request.timeout_ms) + kGrace);
    if (!answer.ok()) broken_ = answer.status();
    return answer;
  }

  Result<std::string> exchange(const std::string& question, TimePoint give_up) {
    for (std::size_t at = 0; at < question.size();) {
      const ssize_t n = ::send(fd_.get(), question.data() + at, question.size() - at, MSG_NOSIGNAL);
      if (n > 0) at += std::size_t(n);
      if (n < 0 && errno != EINTR) RW_TRY(wait_for(POLLOUT, give_up));
    }
    for (;;) {
      if (auto frame = take_frame(inbox_)) return *frame;
      RW_TRY(wait_for(POLLIN, give_up));
      char part[16 * 1024];
      const ssize_t n = ::recv(fd_.get(), part, sizeof part, MSG_DONTWAIT);
      if (n == 0) return Status(Code::remote, Scope::engine, "the store at " + place_ + " is gone");
      if (n < 0 && errno != EAGAIN && errno != EINTR) return system_error(Scope::engine, "recv from the store at " + place_);
      if (n > 0) inbox_.append(part, std::size_t(n));
      if (impossible(inbox_)) return Status(Code::remote, Scope::engine, place_ + " is no store of ours");
    }
  }

  Status wait_for(short what, TimePoint give_up) {
    if (what == POLLOUT && errno != EAGAIN) return system_error(Scope::engine, "send to the store at " + place_);
    pollfd ready{fd_.get(), what, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - now()).count();
    if (left <= 0 || ::poll(&ready, 1, int(std::min<std::int64_t>(left, 0x7fffffff))) == 0)
      return Status(Code::timed_out, Scope::engine, "the store at " + place_ + " does not answer");
    return {};
  }

  const std::string place_;
  const std::unique_ptr<StoreServer> server_;  // at the root only
  std::mutex mutex_;
  const OwnedFd fd_;
  std::string inbox_;                          // guarded by mutex_
  Status broken_;                              // guarded by mutex_: the first failure sticks
};

}  // namespace

Result<std::unique_ptr<Store>> tcp_store(const std::string& host, std::uint16_t port, bool serve, Nanos timeout,
                                         std::uint16_t* served_port) {
  std::unique_ptr<StoreServer> server;
  if (serve) {
    RW_ASSIGN_OR_RETURN(server, StoreServer::start(host, port));
    port = server->port();
  }
  if (served_port != nullptr) *served_port = port;
  RW_ASSIGN_OR_RETURN(OwnedFd fd, connect_to(host, port, timeout));
  return std::unique_ptr<Store>(std::make_unique<TcpStore>(fmt::format("{}:{}", host, port), std::move(fd), std::move(server)));
}

}  // namespace railweave::collectives
