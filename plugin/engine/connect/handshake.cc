#include "engine/connect/handshake.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/core_wait.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "base/random.h"
#include "base/without_memory.h"
#include "engine/runtime/fork_guard.h"
#include "wire/bootstrap/address.h"

namespace railweave::engine {
namespace {

// Returns the error of a call that failed. Code::remote: the peer or the way to it failed, not this host.
Status broken(std::string call) {
  const int err = errno;
  const Status status = system_error(Scope::lane, std::move(call), err);
  const bool theirs = err == ECONNRESET || err == EPIPE || err == ETIMEDOUT || err == ECONNABORTED ||
                      err == EHOSTUNREACH || err == ENETUNREACH;
  return theirs ? Status(Code::remote, Scope::lane, status.message(), err) : status;
}

Role other(Role role) { return role == Role::dialler ? Role::acceptor : Role::dialler; }

// Returns the bytes of a Hello. With a key, the seal follows the Hello.
Result<std::vector<std::byte>> sealed(const Hello& hello, Role by, const ConnectionKey* connection,
                                      const Secret* session) {
  std::vector<std::byte> message = encode_hello(hello);
  if (!connection) return message;
  RW_ASSIGN_OR_RETURN(const Seal seal, connection->seal(by, message, session));
  message.insert(message.end(), seal.begin(), seal.end());
  return message;
}

// Returns the padding that makes the message fill two segments of the connection. 0: the message is longer, or segments
// are no packets of a network, or too large.
std::uint32_t padding_for(int fd, std::size_t message_bytes) {
  const std::size_t two_segments = 2 * wire::segment_bytes(fd);
  if (two_segments > kHelloPaddingBytesMax || two_segments <= message_bytes) return 0;
  return std::uint32_t(two_segments - message_bytes);
}

// Sends the message at once. The connection is new and its buffer empty, so a message that does not fit is an error.
Status send_whole(const Handshake::Outcome& to, Hello hello, Role by, const Secret* session) {
  const ConnectionKey* const connection = to.connection ? &*to.connection : nullptr;
  if (hello.kind == Hello::Kind::welcome || hello.kind == Hello::Kind::confirm)
    hello.padding_bytes = padding_for(to.fd.get(), encode_hello(hello).size() + (connection ? kSealBytes : 0));
  RW_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, sealed(hello, by, connection, session));
  const ssize_t n = send(to.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n == ssize_t(bytes.size())) return {};
  return system_error(Scope::lane, to.what + ": answering a handshake", n < 0 ? errno : EAGAIN);
}

}  // namespace

Handshake::Handshake(Reactor& reactor, std::string what, Role role, const Credentials& own, Done done)
    : reactor_(reactor), what_(std::move(what)), done_(std::move(done)), role_(role), own_(own) {}

std::unique_ptr<Handshake> Handshake::dial(Reactor& reactor, const wire::DialSpec& spec, const Hello& hello,
                                           const Credentials& own, TimePoint deadline, Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor,
                                             "dialling " + wire::to_string(spec.remote) + " from " + spec.interface,
                                             Role::dialler, own, std::move(done)));
  h->remote_ = spec.remote;
  h->connecting_ = true;
  h->own_hello_ = hello;
  h->dialled_at_ = now();
  if (hello.kind == Hello::Kind::join) {
    h->again_ = spec;
    h->patience_ = deadline - h->dialled_at_;
  }
  Result<OwnedFd> fd = wire::dial(spec);
  if (!fd.ok()) {
    h->fail_soon(fd.status());
    return h;
  }
  h->fd_ = std::move(*fd);
  h->start(deadline, EPOLLOUT);
  return h;
}

std::unique_ptr<Handshake> Handshake::await(Reactor& reactor, OwnedFd fd, std::string what, const SharedKey* key,
                                            TimePoint deadline, Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor, std::move(what), Role::acceptor, {key}, std::move(done)));
  h->fd_ = std::move(fd);
  h->start(deadline, EPOLLIN);
  return h;
}

std::unique_ptr<Handshake> Handshake::await_confirm(Reactor& reactor, Outcome& welcomed, TimePoint deadline,
                                                    Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor, welcomed.what, Role::acceptor, {}, std::move(done)));
  h->connection_ = welcomed.connection;
  h->confirms_ = true;
  h->fd_ = std::move(welcomed.fd);
  h->start(deadline, EPOLLIN);
  return h;
}

std::unique_ptr<Handshake> Handshake::dial_local(Reactor& reactor, OwnedFd connected, OwnedFd attached,
                                                 const Hello& hello, const Credentials& own, TimePoint deadline,
                                                 Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor, "dialling locally", Role::dialler, own, std::move(done)));
  h->local_ = true;
  h->own_hello_ = hello;
  h->fd_ = std::move(connected);
  h->attached_ = std::move(attached);
  h->start(deadline, EPOLLOUT);
  return h;
}

std::unique_ptr<Handshake> Handshake::await_local(Reactor& reactor, OwnedFd fd, std::string what, const SharedKey* key,
                                                  TimePoint deadline, Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor, std::move(what), Role::acceptor, {key}, std::move(done)));
  h->local_ = true;
  h->fd_ = std::move(fd);
  h->start(deadline, EPOLLIN);
  return h;
}

void Handshake::start(TimePoint deadline, std::uint32_t events) {
  guard_descriptor(fd_.get());
  end_at(deadline);
  if (Status s = begin(); !s.ok()) return fail_soon(s);
  if (Status s = reactor_.add(fd_.get(), *this, events); !s.ok()) fail_soon(s);
}

void Handshake::end_at(TimePoint deadline) {
  if (timer_) reactor_.cancel(timer_);
  timer_ = reactor_.at(deadline, [this, held_up = core_wait()] {
    timer_ = 0;
    on_deadline(held_up);
  });
}

// Extends the deadline by the time for which this thread waited for a core. Where many processes share few cores, the
// answer may have come meanwhile.
void Handshake::on_deadline(std::optional<Nanos> held_up_before) {
  const std::optional<Nanos> held_up = core_wait();
  if (held_up && held_up_before && *held_up - *held_up_before >= kHeldUpLeast)
    return end_at(now() + (*held_up - *held_up_before));
  Status why = parting_;
  try {
    if (why.ok()) why = Status(Code::timed_out, Scope::lane, what_ + ": " + why_late());
  } catch (const std::bad_alloc&) {
    why = out_of_memory();
  }
  finish(std::move(why));
}

// Returns the likely cause, by the packets that passed. Welcome and confirm are the large packets of a handshake.
std::string Handshake::why_late() const {
  if (connecting_) return "no answer to the connection: a firewall, a cable or a switch?";
  const bool heard_all = !local_ && !wire::has_unacknowledged(fd_.get());
  const std::string packets = "packets of " + std::to_string(wire::segment_bytes(fd_.get())) + " bytes";
  if (confirms_ && !heard_all)
    return "small packets come, but " + packets + " are not acknowledged: a smaller MTU on the way?";
  if (role_ == Role::dialler && heard_all && in_.empty())
    return "connected, but no answer in " + packets + ": a smaller MTU on the way, or is the peer stopped?";
  return "no handshake within its deadline";
}

// Fails by a timer: callbacks never come from inside dial() and await().
void Handshake::fail_soon(Status why) {
  if (timer_) reactor_.cancel(timer_);
  timer_ = reactor_.at(TimePoint{}, [this, why = std::move(why)] {
    timer_ = 0;
    finish(why);
  });
}

Handshake::~Handshake() {
  if (timer_) reactor_.cancel(timer_);
  if (!fd_) return;
  reactor_.remove(fd_.get(), *this);
  release_descriptor(fd_.get());
}

void Handshake::on_ready(std::uint32_t) {
  std::uint32_t wanted = 0;
  bool complete = false;
  Status status;
  try {
    status = advance(wanted, complete);
  } catch (const std::bad_alloc&) {  // fails at once: nothing else happens before the deadline
    status = out_of_memory();
  }
  if (!status.ok() || complete) return finish(status);
  reactor_.arm(fd_.get(), *this, wanted);
}

Status Handshake::begin() {
  Challenge::Nonce nonce{};
  if (own_.key) RW_TRY(fill_with_random(nonce));
  challenge_.emplace(role_, own_.key, nonce);
  if (const auto& opening = challenge_->opening()) out_.assign(opening->begin(), opening->end());
  return role_ == Role::dialler && challenge_->over() ? queue_hello() : Status();
}

Status Handshake::dial_again() {
  RW_ASSIGN_OR_RETURN(OwnedFd fresh, wire::dial(*again_));
  again_.reset();
  reactor_.remove(fd_.get(), *this);
  release_descriptor(fd_.get());
  fd_ = std::move(fresh);
  guard_descriptor(fd_.get());
  return reactor_.add(fd_.get(), *this, EPOLLOUT);
}

Status Handshake::advance(std::uint32_t& wanted, bool& complete) {
  if (connecting_) {
    RW_ASSIGN_OR_RETURN(const bool up, wire::connected(fd_.get(), remote_));
    wanted = EPOLLOUT;
    if (!up) return {};
    if (patience_ > Nanos{0}) end_at(now() + patience_);
    if (again_ && now() - dialled_at_ >= kSynAgain) return dial_again();
    connecting_ = false;
  }
  while (!complete) {
    bool all = false;
    RW_TRY(write_some(all));
    wanted = EPOLLOUT;
    if (!all) return {};
    wanted = EPOLLIN;
    if (!parting_.ok()) return role_ == Role::dialler || see_out() ? parting_ : Status();
    all = false;
    RW_TRY(read_some(all));
    if (!all) return {};
    RW_TRY(take_message(complete));
  }
  return {};
}

Status Handshake::write_some(bool& all) {
  while (!out_.empty()) {
    const ssize_t n = attached_ && saying_hello_
                          ? send_with_fd(fd_.get(), out_, attached_.get())
                          : send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return broken(what_ + ": send");
    out_.erase(out_.begin(), out_.begin() + n);
    if (!saying_hello_) continue;
    attached_.reset();
  }
  all = true;
  return {};
}

// Reads this message and not a byte more: frames may follow it.
Status Handshake::read_some(bool& all) {
  for (;;) {
    const std::size_t have = in_.size();
    if (have == kHelloFixedBytes) RW_TRY(measure());
    if (have == expected_bytes_) break;
    in_.resize(expected_bytes_);
    const auto rest = std::span(in_).subspan(have);
    const ssize_t n =
        local_ ? recv_with_fd(fd_.get(), rest, attached_) : recv(fd_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    in_.resize(have + std::size_t(n > 0 ? n : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return broken(what_ + ": recv");
    if (n == 0)
      return Status(Code::remote, Scope::lane,
                    what_ + ": closed by the peer after " + std::to_string(have) + " bytes of its handshake");
  }
  all = true;
  return {};
}

// Sets expected_bytes_ for the message whose first bytes are in in_.
Status Handshake::measure() {
  const std::span<const std::byte, kHelloFixedBytes> head(in_.data(), kHelloFixedBytes);
  if (challenge_->concerns(head)) return {};
  Result<std::size_t> bytes = hello_bytes(head);
  if (!bytes.ok()) return of_connection(bytes.status());
  expected_bytes_ = *bytes + (connection() ? kSealBytes : 0);
  return {};
}

Status Handshake::of_connection(const Status& why) const {
  return Status(why.code(), why.scope(), what_ + ": " + why.message());
}

Status Handshake::take_message(bool& complete) {
  static_assert(kChallengeBytes == kHelloFixedBytes);
  if (challenge_->concerns(std::span<const std::byte, kChallengeBytes>(in_.data(), kChallengeBytes)))
    return take_turn();
  complete = true;
  return take_hello();
}

Status Handshake::take_turn() {
  Challenge::Turn turn =
      challenge_->on_message(std::span<const std::byte, kChallengeBytes>(in_.data(), kChallengeBytes));
  in_.clear();
  no_common_key_ = turn.no_common_key;
  if (turn.answer) out_.assign(turn.answer->begin(), turn.answer->end());
  if (turn.status.ok()) return role_ == Role::dialler ? queue_hello() : Status();
  const Status why = of_connection(turn.status);
  if (!turn.answer) return why;
  parting_ = why;
  return {};
}

// Reads and discards until the dialler closes. Its Hello may be on its way: closing with unread bytes resets the
// connection, and the reset might overtake our refusal. True: the dialler has closed, or has sent too much.
bool Handshake::see_out() {
  constexpr std::size_t kThrownAwayMax = 64 * KiB;
  (void)shutdown(fd_.get(), SHUT_WR);
  std::array<std::byte, 4096> sink;
  while (thrown_away_ <= kThrownAwayMax) {
    const ssize_t n = recv(fd_.get(), sink.data(), sink.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) return true;
    thrown_away_ += std::size_t(n);
  }
  return true;
}

Status Handshake::queue_hello() {
  RW_ASSIGN_OR_RETURN(const std::vector<std::byte> message, sealed(*own_hello_, role_, connection(), own_.session));
  out_.insert(out_.end(), message.begin(), message.end());
  own_hello_.reset();
  saying_hello_ = true;
  return {};
}

Status Handshake::take_hello() {
  const ConnectionKey* const key = connection();
  if (key) {
    const auto from = std::span(in_).last<kSealBytes>();
    std::ranges::copy(from, seal_.begin());
    in_.resize(in_.size() - kSealBytes);
    if (const Status s = key->check(other(role_), in_, seal_); !s.ok()) return of_connection(s);
  }
  Result<Hello> hello = decode_hello(in_);
  if (!hello.ok()) return of_connection(hello.status());
  hello_ = std::move(*hello);
  if (!key || !own_.session || hello_.kind != Hello::Kind::welcome) return {};
  const Status s = key->check_session(other(role_), seal_, *own_.session);
  return s.ok() ? s : of_connection(s);
}

void Handshake::finish(Status status) {
  if (fd_) {
    reactor_.remove(fd_.get(), *this);
    release_descriptor(fd_.get());
  }
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  // Allocates nothing: the caller that waits for the outcome learns of it in no other way.
  Outcome outcome{std::move(status), std::move(hello_), std::move(fd_), std::move(attached_), no_common_key_, {}, seal_,
                  std::move(what_)};
  if (challenge_ && connection()) outcome.connection = *connection();
  if (!outcome.status.ok()) outcome.fd.reset();
  const Done done = std::move(done_);
  done(std::move(outcome));  // may destroy this
}

Status send_hello(const Handshake::Outcome& to, const Hello& hello, const Secret* session) {
  return send_whole(to, hello, Role::acceptor, session);
}

Status send_confirm(const Handshake::Outcome& welcome, const Secret* session) {
  return send_whole(welcome, confirm_of(welcome.hello), Role::dialler, session);
}

}  // namespace railweave::engine
