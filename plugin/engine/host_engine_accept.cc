// The acceptor's side of handshakes: who may come in, and what becomes of crossing dials (decision D2).
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "engine/host_engine.h"
#include "wire/tcp/socket.h"

namespace railweave::engine {
namespace {

constexpr Nanos kHelloTime = std::chrono::seconds(5);   // then a silent stranger is shown out
constexpr std::size_t kIncomingMax = 1024;              // handshakes under way; beyond it the oldest is closed
constexpr Nanos kIdleTime = std::chrono::seconds(10);   // for a peer to open a stream in its session,
constexpr std::size_t kIdleMax = 64;                    // when so many have not;
constexpr std::size_t kIdleAtOnceMax = 1024;            // when so many have not, the oldest ends at once
constexpr Nanos kWarnAgain = std::chrono::minutes(1);   // of who has no key in common with us, or encrypts alone

}  // namespace

void HostEngine::on_connection(wire::Accepted accepted, int rail) {
  (void)wire::set_options(accepted.fd.get(), {config_.congestion_control, -1, config_.peer_timeout});
  // The socket does not know its peer any more once that has reset it.
  await_hello(std::move(accepted.fd), "connection from " + wire::to_string(accepted.remote), &Handshake::await,
              [this, rail](Handshake::Outcome outcome) { on_hello(rail, std::move(outcome)); });
}

void HostEngine::on_local_connection(OwnedFd fd) {
  await_hello(std::move(fd), "local connection", &Handshake::await_local, [this](Handshake::Outcome outcome) { on_local_hello(std::move(outcome)); });
}

void HostEngine::await_hello(OwnedFd fd, std::string what, decltype(&Handshake::await) await, Handshake::Done then) {
  if (leaving_) return;  // closes it
  // A peer speaks at once; who came first and is still silent is the likeliest stranger.
  if (incoming_.size() >= kIncomingMax) incoming_.erase(incoming_.begin());
  const std::uint64_t number = next_incoming_++;
  incoming_.emplace(number, await(reactor_, std::move(fd), std::move(what), self_.key, now() + kHelloTime, [this, number, then = std::move(then)](Handshake::Outcome outcome) {
    const auto node = incoming_.extract(number);  // lives until we return
    then(std::move(outcome));
  }));
}

// A peer that was set up wrongly is the job's own trouble and is warned of; strangers may not fill the log.
void HostEngine::note_shown_out(const std::string& why, bool set_up_wrongly) {
  const bool lately = warned_shown_out_ != TimePoint{} && now() - warned_shown_out_ < kWarnAgain;
  if (!set_up_wrongly || lately) {
    RW_INFO(net, "shown out: {}", why);
    return;
  }
  warned_shown_out_ = now();
  RW_WARN(net, "shown out: {}", why);
}

bool HostEngine::refused_for_encryption(const Handshake::Outcome& caller) {
  const bool peer_encrypts = (caller.hello.features & kFeatureEncrypt) != 0;
  if (peer_encrypts == config_.encrypt) return false;
  refuse(caller, Hello::Refusal::encryption, encryption_differs(peer_encrypts));
  note_shown_out(caller.hello.peer + ": " + encryption_differs(config_.encrypt), true);
  return true;
}

void HostEngine::on_local_hello(Handshake::Outcome outcome) {
  if (!outcome.status.ok()) return note_shown_out(outcome.status.message(), outcome.no_common_key);
  if (outcome.hello.to != self_.instance || outcome.hello.kind != Hello::Kind::first)
    return refuse(outcome, Hello::Refusal::stranger, "not the beginning of a local handshake with this instance");
  if (refused_for_encryption(outcome)) return;
  auto object = wire::shm::SharedObject::adopt(std::move(outcome.attached));
  if (!object.ok())
    return refuse(outcome, Hello::Refusal::stranger, std::string(object.status().message()));
  accept_first(std::move(outcome), 0, std::move(*object));
}

void HostEngine::on_hello(int rail, Handshake::Outcome outcome) {
  if (!outcome.status.ok()) return note_shown_out(outcome.status.message(), outcome.no_common_key);
  const Hello& hello = outcome.hello;
  (void)wire::set_options(outcome.fd.get(), {.congestion_control = {}, .traffic_class = hello.traffic_class, .peer_timeout = Nanos{0}});
  if (hello.to != self_.instance)
    return refuse(outcome, Hello::Refusal::stranger, "this is another instance than the one expected");
  if (refused_for_encryption(outcome)) return;
  switch (hello.kind) {
    case Hello::Kind::first: return accept_first(std::move(outcome), rail);
    case Hello::Kind::join: return accept_join(std::move(outcome), rail);
    default: return refuse(outcome, Hello::Refusal::stranger, "not the beginning of a handshake");
  }
}

Hello HostEngine::answer(const Hello& hello, Hello::Kind kind, int rail) const {
  Hello a;
  a.kind = kind;
  a.features = features(self_);
  a.from = self_.instance;
  a.to = hello.from;
  a.session = hello.session;
  a.lane = hello.lane;
  a.local_rail = hello.local_rail;
  a.remote_rail = std::uint8_t(rail);
  a.traffic_class = hello.traffic_class;
  a.peer = self_.name;
  return a;
}

void HostEngine::refuse(const Handshake::Outcome& caller, Hello::Refusal refusal, std::string reason) {
  Hello a = answer(caller.hello, Hello::Kind::refused, 0);
  a.refusal = refusal;
  if (refusal == Hello::Refusal::stranger) a.from = {};  // whoever it is need not learn whom he found
  a.reason = std::move(reason);
  (void)send_hello(caller, a);
}

PeerKey HostEngine::key_of_dialler(const Hello& hello) const {
  return {hello.from, hello.traffic_class, hello.from == self_.instance ? PeerKey::Half::acceptor : PeerKey::Half::whole};
}

void HostEngine::accept_first(Handshake::Outcome caller, int rail, wire::shm::SharedObject object) {
  const Hello& hello = caller.hello;
  const PeerKey key = key_of_dialler(hello);
  bool known = false, crossing = false;
  {
    const std::lock_guard lock(table_mutex_);
    const auto session = sessions_.find(key);
    known = session != sessions_.end() && !session->second->over();
    crossing = !known && dials_.contains(key);
  }
  if (known) return refuse(caller, Hello::Refusal::duplicate, "there is a session already");
  if (crossing && hello.from < self_.instance)
    return refuse(caller, Hello::Refusal::crossing, "both dial; the greater instance's dial stays");
  Hello welcome = answer(hello, Hello::Kind::welcome, rail);
  welcome.rails = doors_.rails();
  const bool by_rails = !object;
  const int dialler_rail = std::min<int>(hello.local_rail, 63);
  NewLane lane{OwnedFd(), hello.lane, rail, dialler_rail, std::move(object), wire::ShmLane::End::taker};
  Status s = take_session_secret(lane, caller);
  if (s.ok()) s = begin_encryption(lane, self_, wire::TlsEnd::server, caller);
  if (s.ok()) s = send_hello(caller, welcome);
  if (!s.ok()) {
    RW_INFO(net, "{}", s.message());
    return;
  }
  lane.fd = std::move(caller.fd);
  const auto session = add_session(key, hello, hello.session, std::move(lane), {});
  if (by_rails)
    knocks_.emplace(session.get(), std::make_unique<Knock>(reactor_, self_, hello.from, hello.traffic_class, session, hello.rails));
  newcomers_.push_back({session, now()});
  show_out_idle_sessions();
}

// A peer dials because it wants a stream. Many that want none only hold our descriptors.
void HostEngine::show_out_idle_sessions() {
  std::erase_if(newcomers_, [](const Newcomer& n) {
    const auto session = n.session.lock();
    return !session || session->over() || session->used();
  });
  std::size_t out = 0;
  for (; newcomers_.size() - out > kIdleMax; ++out) {
    const Newcomer& oldest = newcomers_[out];
    if (newcomers_.size() - out <= kIdleAtOnceMax && now() - oldest.since < kIdleTime) break;
    const auto session = oldest.session.lock();
    if (!session) continue;
    if (!std::exchange(warned_idle_, true))
      RW_WARN(net, "more than {} sessions whose peers never opened a stream: they are ended, {}'s first", kIdleMax,
              session->peer());
    session->fail(Status(Code::remote, Scope::session, "the session with " + session->peer() + " ended: no stream came"));
  }
  newcomers_.erase(newcomers_.begin(), newcomers_.begin() + std::ptrdiff_t(out));
  if (newcomers_.size() <= kIdleMax || idle_timer_ || leaving_) return;
  idle_timer_ = reactor_.at(newcomers_.front().since + kIdleTime, [this] {
    idle_timer_ = 0;
    show_out_idle_sessions();
  });
}

void HostEngine::accept_join(Handshake::Outcome caller, int rail) {
  const Hello& hello = caller.hello;
  std::shared_ptr<LiveSession> session;
  {
    const std::lock_guard lock(table_mutex_);
    const auto it = sessions_.find(key_of_dialler(hello));
    if (it != sessions_.end() && !it->second->over() && it->second->serial() == hello.session) session = it->second;
  }
  if (!session) return refuse(caller, Hello::Refusal::unknown_session, "no such session");
  if (caller.connection && !caller.connection->check_session(Role::dialler, caller.seal, *session->secret()).ok())
    return refuse(caller, Hello::Refusal::stranger, "whoever joins a session must know its secret");
  if (session->had_lane(hello.lane)) {
    refuse(caller, Hello::Refusal::duplicate, "that lane exists already");
    if (const auto it = upkeeps_.find(session.get()); it != upkeeps_.end()) it->second->on_knock({rail, hello.local_rail});
    return;
  }
  // We were stopped, and whoever asked has given up: a lane of it would only have to be fenced.
  if (char end; ::recv(caller.fd.get(), &end, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return;
  NewLane lane{OwnedFd(), hello.lane, rail, std::min<int>(hello.local_rail, 63)};
  Status s = begin_encryption(lane, self_, wire::TlsEnd::server, caller);
  if (s.ok()) s = send_hello(caller, answer(hello, Hello::Kind::welcome, rail), session->secret());
  if (!s.ok()) {
    RW_INFO(net, "{}", s.message());
    return;
  }
  lane.fd = std::move(caller.fd);
  add_lane(*session, std::move(lane));
}

}  // namespace railweave::engine
