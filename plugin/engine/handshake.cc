#include "engine/handshake.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/local_socket.h"
#include "base/without_memory.h"
#include "engine/fork_guard.h"
#include "wire/tcp/address.h"

namespace railweave::engine {
namespace {

// Where the connection is what failed, the peer or its way to us did.
Status broken(std::string call) {
  const int err = errno;
  const Status status = system_error(Scope::lane, std::move(call), err);
  const bool theirs = err == ECONNRESET || err == EPIPE || err == ETIMEDOUT || err == ECONNABORTED || err == EHOSTUNREACH ||
                      err == ENETUNREACH;
  return theirs ? Status(Code::remote, Scope::lane, status.message(), err) : status;
}

}  // namespace

Handshake::Handshake(Reactor& reactor, std::string what, Done done)
    : reactor_(reactor), what_(std::move(what)), done_(std::move(done)) {}

std::unique_ptr<Handshake> Handshake::dial(Reactor& reactor, const wire::DialSpec& spec, const Hello& hello, TimePoint deadline,
                                           Done done) {
  std::unique_ptr<Handshake> h(
      new Handshake(reactor, "dialling " + wire::to_string(spec.remote) + " from " + spec.interface, std::move(done)));
  h->remote_ = spec.remote;
  h->connecting_ = true;
  h->out_ = encode_hello(hello);
  Result<OwnedFd> fd = wire::dial(spec);
  if (!fd.ok()) {
    h->fail_soon(fd.status());
    return h;
  }
  h->fd_ = std::move(*fd);
  h->start(deadline, EPOLLOUT);
  return h;
}

std::unique_ptr<Handshake> Handshake::await(Reactor& reactor, OwnedFd fd, TimePoint deadline, Done done) {
  const std::string from = wire::to_string(wire::remote_address(fd.get()));
  std::unique_ptr<Handshake> h(new Handshake(reactor, "connection from " + from, std::move(done)));
  h->fd_ = std::move(fd);
  h->start(deadline, EPOLLIN);
  return h;
}

std::unique_ptr<Handshake> Handshake::dial_local(Reactor& reactor, OwnedFd connected, OwnedFd attached, const Hello& hello,
                                                 TimePoint deadline, Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor, "dialling locally", std::move(done)));
  h->local_ = true;
  h->out_ = encode_hello(hello);
  h->fd_ = std::move(connected);
  h->attached_ = std::move(attached);
  h->start(deadline, EPOLLOUT);
  return h;
}

std::unique_ptr<Handshake> Handshake::await_local(Reactor& reactor, OwnedFd fd, TimePoint deadline, Done done) {
  std::unique_ptr<Handshake> h(new Handshake(reactor, "local connection", std::move(done)));
  h->local_ = true;
  h->fd_ = std::move(fd);
  h->start(deadline, EPOLLIN);
  return h;
}

void Handshake::start(TimePoint deadline, std::uint32_t events) {
  guard_descriptor(fd_.get());
  timer_ = reactor_.at(deadline, [this] {
    timer_ = 0;
    finish(Status(Code::timed_out, Scope::lane, what_ + ": no handshake within its deadline"));
  });
  if (Status s = reactor_.add(fd_.get(), *this, events); !s.ok()) fail_soon(s);
}

// Callbacks never come from inside dial() and await().
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
  } catch (const std::bad_alloc&) {  // over at once: nobody would look again before the deadline
    status = out_of_memory();
  }
  if (!status.ok() || complete) return finish(status);
  reactor_.arm(fd_.get(), *this, wanted);
}

Status Handshake::advance(std::uint32_t& wanted, bool& complete) {
  if (connecting_) {
    RW_ASSIGN_OR_RETURN(const bool up, wire::connected(fd_.get(), remote_));
    wanted = EPOLLOUT;
    if (!up) return {};
    connecting_ = false;
  }
  bool all = false;
  RW_TRY(write_some(all));
  wanted = EPOLLOUT;
  if (!all) return {};
  wanted = EPOLLIN;
  return read_some(complete);
}

Status Handshake::write_some(bool& all) {
  while (!out_.empty()) {
    const ssize_t n = attached_ ? send_with_fd(fd_.get(), out_, attached_.get())
                                : send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return broken(what_ + ": send");
    out_.erase(out_.begin(), out_.begin() + n);
    spoke_ = true;
    attached_.reset();
  }
  all = true;
  return {};
}

// Reads this message and not a byte more: frames may follow it.
Status Handshake::read_some(bool& all) {
  for (;;) {
    const std::size_t have = in_.size();
    if (have == expected_bytes_) {
      if (have == kHelloFixedBytes) {
        RW_ASSIGN_OR_RETURN(expected_bytes_, hello_bytes(std::span<const std::byte, kHelloFixedBytes>(in_.data(), kHelloFixedBytes)));
      }
      if (have == expected_bytes_) break;
    }
    in_.resize(expected_bytes_);
    const auto rest = std::span(in_).subspan(have);
    const ssize_t n = local_ ? recv_with_fd(fd_.get(), rest, attached_)
                             : recv(fd_.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    in_.resize(have + std::size_t(n > 0 ? n : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return {};
    if (n < 0) return broken(what_ + ": recv");
    if (n == 0) return Status(Code::remote, Scope::lane, what_ + ": closed by the peer after " + std::to_string(have) + " bytes of its handshake");
  }
  RW_ASSIGN_OR_RETURN(hello_, decode_hello(in_));
  all = true;
  return {};
}

void Handshake::finish(Status status) {
  if (fd_) {
    reactor_.remove(fd_.get(), *this);
    release_descriptor(fd_.get());
  }
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  Outcome outcome{std::move(status), std::move(hello_), std::move(fd_), std::move(attached_), spoke_};
  if (!outcome.status.ok()) outcome.fd.reset();
  const Done done = std::move(done_);
  done(std::move(outcome));  // may destroy this
}

Status send_hello(int fd, const Hello& hello) {
  const std::vector<std::byte> bytes = encode_hello(hello);
  const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n == ssize_t(bytes.size())) return {};
  return system_error(Scope::lane, "answering a handshake", n < 0 ? errno : EAGAIN);
}

}  // namespace railweave::engine
