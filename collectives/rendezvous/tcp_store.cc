// A Store on a server, reached by TCP (store_frames.h, store_server.h).
#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/named_socket.h"
#include "base/process_origin.h"
#include "collectives/rendezvous/fair_mutex.h"
#include "collectives/rendezvous/store.h"
#include "collectives/rendezvous/store_frames.h"
#include "collectives/rendezvous/store_server.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kGrace = std::chrono::seconds(5);        // for an answer, beyond the wait asked of the server
constexpr Nanos kSlice = std::chrono::milliseconds(20);  // of a get that waits; other threads ask between slices
constexpr Nanos kLongest = std::chrono::hours(24 * 24);  // cap on a get's timeout; deadlines cannot overflow

class TcpStore final : public Store {
 public:
  TcpStore(std::string place, OwnedFd fd, StoreServer::Ptr server)
      : place_(std::move(place)), server_(std::move(server)), fd_(std::move(fd)) {}
  ~TcpStore() override {
    if (origin_.in_child()) (void)talk_.release();  // a thread may have held its locks at fork
  }

  // Sends the first request. The server's process may be stopped for a while, as during a get().
  Status greet(TimePoint give_up) {
    return ask({StoreRequest::Kind::remove, 0, "", ""}, std::max<Nanos>(give_up - now(), Nanos(0))).status();
  }
  Status set(const std::string& key, const std::string& value) override {
    return ask({StoreRequest::Kind::set, 0, key, value}).status();
  }

  Result<std::string> get(const std::string& key, Nanos timeout) override {
    const TimePoint give_up = deadline_after(std::min(timeout, kLongest));
    for (bool last = false; !last;) {
      const Nanos left = std::max<Nanos>(give_up - now(), Nanos(0));
      last = left <= kSlice;
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kSlice)).count();
      // The patience is the whole time left: a stopped server may answer that late.
      RW_ASSIGN_OR_RETURN(const std::string answer, ask({StoreRequest::Kind::get, std::uint32_t(ms), key, ""}, left));
      if (answer.front() == 1) return answer.substr(1);
    }
    return Status(
        Code::timed_out, Scope::engine,
        fmt::format("nobody set '{}' in the store at {} within {:g} s", key, place_, double(timeout.count()) / 1e9));
  }

  Status remove(const std::string& key) override { return ask({StoreRequest::Kind::remove, 0, key, ""}).status(); }
  Status publish(const std::string& key, const std::string& value) override {
    return ask({StoreRequest::Kind::publish, 0, key, value}).status();
  }
  Status claim(const std::string& key) override {
    RW_ASSIGN_OR_RETURN(const std::string answer, ask({StoreRequest::Kind::claim, 0, key, ""}));
    if (answer.front() == 1) return {};
    return Status(Code::exhausted, Scope::engine,
                  fmt::format("somebody else holds '{}' in the store at {}", key, place_));
  }
  void release(const std::string& key) override {
    if (origin_.in_child()) return;
    {
      const MutexLock lock(talk_->released_mutex);
      talk_->released.push_back(key);
    }
    hand_in_released();
  }
  bool kept_here() const override { return server_ != nullptr; }

 private:
  // State of the connection to the server, shared by all threads of this process.
  struct Talk {
    FairMutex turn;  // one request at a time
    std::string inbox RW_GUARDED_BY(turn);
    std::string outbox RW_GUARDED_BY(turn);                            // releases, then the request
    std::map<std::string, std::string> published RW_GUARDED_BY(turn);  // by key; values received as news
    bool ended RW_GUARDED_BY(turn) = false;                            // the server left in order
    Status broken RW_GUARDED_BY(turn);                                 // first failure; kept for good

    Mutex released_mutex;                                             // may be taken inside `turn`
    std::vector<std::string> released RW_GUARDED_BY(released_mutex);  // keys whose release is not yet in `outbox`
  };

  using Turn = ScopedLock<FairMutex>;

  // Sends a request and waits for its answer. `patience`: time the server may take besides kGrace, counted from the
  // start of this thread's turn.
  Result<std::string> ask(const StoreRequest& request, Nanos patience = Nanos(0)) {
    if (origin_.in_child())
      return Status(Code::internal, Scope::engine,
                    "this process was forked: the connection to the store at " + place_ + " belongs to the parent");
    if (request.key.size() > kKeyBytesMax || request.value.size() > kValueBytesMax)
      return Status(Code::invalid_argument, Scope::request,
                    fmt::format("the store: a key of {} bytes with a value of {}, expected at most {} and {}",
                                request.key.size(), request.value.size(), kKeyBytesMax, kValueBytesMax));
    auto answer = ask_in_turn(request, patience);
    hand_in_released();  // keys released during the turn
    return answer;
  }

  Result<std::string> ask_in_turn(const StoreRequest& request, Nanos patience) {
    const Turn turn(talk_->turn);
    const bool gets = request.kind == StoreRequest::Kind::get;
    read_news();
    if (gets && talk_->published.contains(request.key)) return encode_found(talk_->published.at(request.key));
    if (!talk_->broken.ok()) return talk_->broken;
    auto answer = round_trip(encode(request), now() + patience + kGrace);
    if (answer.ok()) return answer;
    talk_->broken = answer.status();
    if (gets && talk_->published.contains(request.key)) return encode_found(talk_->published.at(request.key));
    return answer;
  }

  Status not_our_store(const char* why) const {
    return Status(Code::remote, Scope::engine, fmt::format("the server at {} is no Railweave store: {}", place_, why));
  }

  static std::string encode_found(const std::string& value) { return char(1) + value; }

  // Sends the releases without waiting. A thread that has the turn, or waits for it, sends them after its request.
  // Releases that the socket does not take now precede the next request.
  void hand_in_released() {
    while (any_released()) {
      if (!talk_->turn.try_lock()) return;
      const Turn turn(talk_->turn, std::adopt_lock);
      std::vector<std::string> keys;
      {
        const MutexLock lock(talk_->released_mutex);
        keys.swap(talk_->released);
      }
      if (!talk_->broken.ok()) continue;
      for (const std::string& key : keys)
        talk_->outbox += encode(StoreRequest{StoreRequest::Kind::release, 0, key, ""});
      (void)send_some();
    }
  }

  bool any_released() {
    const MutexLock lock(talk_->released_mutex);
    return !talk_->released.empty();
  }

  // --- with the turn held
  // Reads all news received so far; an answer without a request breaks the connection.
  void read_news() RW_REQUIRES(talk_->turn) {
    while (talk_->broken.ok()) {
      auto read = read_some();
      if (!read.ok()) talk_->broken = read.status();
      if (const auto frame = next_answer(); frame && talk_->broken.ok())
        talk_->broken = not_our_store("it sent an answer without a request");
      if (!read.ok() || !*read) return;
    }
  }

  // Sends an encoded request and waits for its answer.
  Result<std::string> round_trip(const std::string& request, TimePoint give_up) RW_REQUIRES(talk_->turn) {
    talk_->outbox += request;
    while (!send_some()) {
      if (errno == EPIPE || errno == ECONNRESET) break;  // the server's last frames are still to be read
      RW_TRY(wait_for(POLLOUT, give_up));
    }
    for (;;) {
      if (auto answer = next_answer()) return *answer;
      RW_TRY(wait_for(POLLIN, give_up));
      RW_TRY(read_some());
      if (impossible(talk_->inbox)) return not_our_store("it sent a malformed frame");
    }
  }

  // Sends `outbox`. False: the socket does not take the rest now; errno says why.
  bool send_some() RW_REQUIRES(talk_->turn) {
    std::string& outbox = talk_->outbox;
    while (!outbox.empty()) {
      const ssize_t n = ::send(fd_.get(), outbox.data(), outbox.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EINTR) return false;
      if (n > 0) outbox.erase(0, std::size_t(n));
    }
    return true;
  }

  // Applies the news in the inbox up to the first answer and returns that answer; nullopt: none yet.
  std::optional<std::string> next_answer() RW_REQUIRES(talk_->turn) {
    while (auto frame = take_frame(talk_->inbox)) {
      const auto news = decode_news(*frame);
      if (!news) return frame;
      if (news->kind == StoreNews::Kind::published) talk_->published[news->key] = news->value;
      if (news->kind == StoreNews::Kind::withdrawn) talk_->published.erase(news->key);
      talk_->ended |= news->kind == StoreNews::Kind::ended;
    }
    return std::nullopt;
  }

  // Reads once into the inbox. False: no bytes were there.
  Result<bool> read_some() RW_REQUIRES(talk_->turn) {
    char part[16 * 1024];
    const ssize_t n = ::recv(fd_.get(), part, sizeof part, MSG_DONTWAIT);
    if (n > 0) {
      talk_->inbox.append(part, std::size_t(n));
      return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n < 0 && errno != ECONNRESET && errno != EPIPE)
      return system_error(Scope::engine, "recv from the store at " + place_);
    (void)next_answer();  // the inbox may hold news that the server ended
    if (talk_->ended)
      return Status(Code::cancelled, Scope::engine,
                    "the store at " + place_ + " has ended: rank 0, which kept the store, has left");
    return Status(Code::remote, Scope::engine,
                  "the store at " + place_ + " is gone, and so is rank 0, which kept the store");
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
  const ProcessOrigin origin_;
  const StoreServer::Ptr server_;  // null except at rank 0
  const OwnedFd fd_;
  std::unique_ptr<Talk> talk_ = std::make_unique<Talk>();
};

}  // namespace

Result<std::unique_ptr<Store>> tcp_store(const std::string& host, std::uint16_t port, bool serve, Nanos timeout,
                                         std::uint16_t* served_port) {
  StoreServer::Ptr server;
  if (serve) {
    RW_ASSIGN_OR_RETURN(server, StoreServer::start(host, port));
    port = server->port();
  }
  if (served_port != nullptr) *served_port = port;
  const TimePoint give_up = deadline_after(timeout);
  auto connected = connect_to(host, port, timeout);
  if (!connected.ok()) {
    const Status& why = connected.status();
    return Status(why.code(), why.scope(), "the store that rank 0 keeps: " + why.message(), why.system_errno());
  }
  OwnedFd fd = std::move(*connected);
  auto store = std::make_unique<TcpStore>(fmt::format("{}:{}", host, port), std::move(fd), std::move(server));
  const Status heard = store->greet(give_up);  // the server may close a silent client
  if (!heard.ok())
    return Status(heard.code(), heard.scope(), "the store that rank 0 keeps: " + heard.message(), heard.system_errno());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace railweave::collectives
