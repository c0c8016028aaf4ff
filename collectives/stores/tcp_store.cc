#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

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
    const auto ms =
        std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count(), 0, 0x7fffffff);
    auto answer = ask({StoreRequest::Kind::get, std::uint32_t(ms), key, ""});
    if (!answer.ok()) return answer.status();
    if (answer->front() != 1)
      return Status(
          Code::timed_out, Scope::engine,
          fmt::format("nobody set '{}' in the store at {} within {:g} s", key, place_, double(timeout.count()) / 1e9));
    return answer->substr(1);
  }

  Status remove(const std::string& key) override { return ask({StoreRequest::Kind::remove, 0, key, ""}).status(); }
  Status tell(const std::string& key, const std::string& value) override {
    return ask({StoreRequest::Kind::tell, 0, key, value}).status();
  }
  Status claim(const std::string& key) override {
    RW_ASSIGN_OR_RETURN(const std::string answer, ask({StoreRequest::Kind::claim, 0, key, ""}));
    if (answer.front() == 1) return {};
    return Status(Code::exhausted, Scope::engine,
                  fmt::format("somebody else holds '{}' in the store at {}", key, place_));
  }
  bool kept_here() const override { return server_ != nullptr; }

 private:
  // One question at a time; a get that waits holds up the others of this rank.
  Result<std::string> ask(const StoreRequest& request) {
    if (request.key.size() > kKeyBytesMax || request.value.size() > kValueBytesMax)
      return Status(Code::invalid_argument, Scope::request,
                    fmt::format("the store: a key of {} bytes with a value of {}, expected at most {} and {}", request.key.size(),
                                request.value.size(), kKeyBytesMax, kValueBytesMax));
    const std::lock_guard lock(mutex_);
    const bool gets = request.kind == StoreRequest::Kind::get;
    hear_news();
    if (gets && told_.contains(request.key)) return encode_found(told_.at(request.key));
    if (!broken_.ok()) return broken_;
    auto answer = exchange(encode(request), now() + std::chrono::milliseconds(request.timeout_ms) + kGrace);
    if (answer.ok()) return answer;
    broken_ = answer.status();
    if (gets && told_.contains(request.key)) return encode_found(told_.at(request.key));
    return answer;
  }

  static std::string encode_found(const std::string& value) { return char(1) + value; }

  // What has come so far.
  void hear_news() {
    while (broken_.ok()) {
      auto read = read_some();
      if (!read.ok()) broken_ = read.status();
      if (const auto frame = next_answer(); frame && broken_.ok())
        broken_ = Status(Code::remote, Scope::engine, place_ + " is no store of ours: it answers unasked");
      if (!read.ok() || !*read) return;
    }
  }

  Result<std::string> exchange(const std::string& question, TimePoint give_up) {
    for (std::size_t at = 0; at < question.size();) {
      const ssize_t n = ::send(fd_.get(), question.data() + at, question.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) at += std::size_t(n);
      if (n >= 0 || errno == EINTR) continue;
      if (errno == EPIPE || errno == ECONNRESET) break;  // what it said last is still to be read
      RW_TRY(wait_for(POLLOUT, give_up));
    }
    for (;;) {
      if (auto answer = next_answer()) return *answer;
      RW_TRY(wait_for(POLLIN, give_up));
      RW_TRY(read_some());
      if (impossible(inbox_)) return Status(Code::remote, Scope::engine, place_ + " is no store of ours");
    }
  }

  // Takes news out of the inbox up to the first answer, if there is one.
  std::optional<std::string> next_answer() {
    while (auto frame = take_frame(inbox_)) {
      const auto news = decode_news(*frame);
      if (!news) return frame;
      if (news->kind == StoreNews::Kind::told) told_[news->key] = news->value;
      if (news->kind == StoreNews::Kind::untold) told_.erase(news->key);
      ended_ |= news->kind == StoreNews::Kind::ended;
    }
    return std::nullopt;
  }

  // False: nothing has come.
  Result<bool> read_some() {
    char part[16 * 1024];
    const ssize_t n = ::recv(fd_.get(), part, sizeof part, MSG_DONTWAIT);
    if (n > 0) {
      inbox_.append(part, std::size_t(n));
      return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n < 0 && errno != ECONNRESET && errno != EPIPE)
      return system_error(Scope::engine, "recv from the store at " + place_);
    (void)next_answer();  // it may have said that it ends
    if (ended_)
      return Status(Code::cancelled, Scope::engine,
                    "the store at " + place_ + " has ended: rank 0, which kept it, has left");
    return Status(Code::remote, Scope::engine, "the store at " + place_ + " is gone, and rank 0, which kept it");
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
  std::string inbox_;                        // guarded by mutex_
  std::map<std::string, std::string> told_;  // guarded by mutex_: what was sent to all, by key
  bool ended_ = false;                       // guarded by mutex_: the server left in order
  Status broken_;                            // guarded by mutex_: the first failure sticks
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
  auto connected = connect_to(host, port, timeout);
  if (!connected.ok()) {
    const Status& why = connected.status();
    return Status(why.code(), why.scope(), "the store that rank 0 keeps: " + why.message(), why.system_errno());
  }
  OwnedFd fd = std::move(*connected);
  return std::unique_ptr<Store>(
      std::make_unique<TcpStore>(fmt::format("{}:{}", host, port), std::move(fd), std::move(server)));
}

}  // namespace railweave::collectives
