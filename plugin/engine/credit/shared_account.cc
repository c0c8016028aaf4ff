#include "engine/credit/shared_account.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/abstract_socket.h"
#include "base/clock.h"
#include "base/local_socket.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {
namespace {

constexpr int kServedPerTurn = 64;
constexpr Nanos kAcceptAgain = std::chrono::milliseconds(100);  // where there was no descriptor
constexpr Nanos kServedLeast = std::chrono::milliseconds(100);  // by a process that means it

}  // namespace

SharedAccount::SharedAccount(Reactor& reactor, int interface_index)
    : reactor_(reactor), name_(name(interface_index)), listener_(*this, &SharedAccount::accept_all),
      answer_(*this, &SharedAccount::hear_answer), pulse_(*this, &SharedAccount::hear_pulse) {}

std::string SharedAccount::name(int interface_index) {
  return fmt::format("railweave-account-{}-{}-{}", AccountMemory::kVersion, ::geteuid(), interface_index);
}

// Between the two calls another process may have begun to serve, or ended.
void SharedAccount::open() {
  Dialled dialled = dial();
  if (dialled == Dialled::nobody && serve()) return;
  if (dialled == Dialled::nobody) dialled = dial();
  if (dialled == Dialled::stranger) again_ = kAgainMost;
  if (dialled != Dialled::connected) again_later();
}

void SharedAccount::close() {
  for (Reactor::TimerId* each : {&timer_, &accept_timer_}) {
    if (*each) reactor_.cancel(std::exchange(*each, 0));
  }
  for (Watched* each : {&listener_, &answer_, &pulse_}) forget(*each);
  for (OwnedFd* each : {&life_, &pulse_out_, &file_.fd}) {
    if (*each) release_descriptor(each->get());
    each->reset();
  }
}

bool SharedAccount::watch(Watched& watched, OwnedFd fd) {
  if (!reactor_.add(fd.get(), watched, EPOLLIN).ok()) return false;
  watched.fd = std::move(fd);
  guard_descriptor(watched.fd.get());
  return true;
}

void SharedAccount::forget(Watched& watched) {
  if (!watched.fd) return;
  reactor_.remove(watched.fd.get(), watched);
  release_descriptor(watched.fd.get());
  watched.fd.reset();
}

void SharedAccount::again_later() {
  if (timer_) return;
  timer_ = reactor_.at(now() + again_, [this] {
    timer_ = 0;
    open();
  });
  again_ = std::min(2 * again_, kAgainMost);
}

void SharedAccount::use(AccountFile file) {
  if (file_.memory && file_.is_same(file)) return;
  account_->share(file.memory);
  if (file_.fd) release_descriptor(file_.fd.get());
  file_ = std::move(file);
  guard_descriptor(file_.fd.get());
}

// ------------------------------------------------------------------------------------------------------------ this process serves

bool SharedAccount::serve() {
  Result<OwnedFd> listener = listen_abstract(name_);
  if (!listener.ok()) return false;
  if (!file_.memory) {
    Result<AccountFile> file = AccountFile::make();
    if (!file.ok()) return false;
    use(std::move(*file));
  }
  if (std::array<int, 2> ends{}; ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    pulse_out_.reset(ends[0]);
    life_.reset(ends[1]);
  } else {
    return false;
  }
  guard_descriptor(life_.get());  // a forked child that held it would seem to serve on
  guard_descriptor(pulse_out_.get());
  if (!watch(listener_, std::move(*listener))) {
    for (OwnedFd* each : {&life_, &pulse_out_}) {
      release_descriptor(each->get());
      each->reset();
    }
    return false;
  }
  again_ = kAgainFirst;
  return true;
}

// Without descriptors a connection stays pending, and the listener ready.
void SharedAccount::accept_all(Watched&) {
  ScopeExit rearm([this] { reactor_.arm(listener_.fd.get(), listener_, EPOLLIN); });
  for (int i = 0; i < kServedPerTurn; ++i) {
    Result<OwnedFd> accepted = accept_local(listener_.fd.get());
    if (!accepted.ok()) {
      accept_timer_ = reactor_.at(now() + kAcceptAgain, [this] {
        accept_timer_ = 0;
        reactor_.arm(listener_.fd.get(), listener_, EPOLLIN);
      });
      return rearm.dismiss();
    }
    if (!*accepted) break;
    constexpr std::array<std::byte, 1> kWord{};
    if (!check_same_user(accepted->get()).ok()) continue;
    if (send_with_fd(accepted->get(), kWord, file_.fd.get()) == 1) (void)send_with_fd(accepted->get(), kWord, pulse_out_.get());
  }
}

// ------------------------------------------------------------------------------------------------------------ another one serves

SharedAccount::Dialled SharedAccount::dial() {
  Result<OwnedFd> dialled = dial_abstract(name_);
  if (!dialled.ok()) return Dialled::nobody;
  if (Status s = check_same_user(dialled->get()); !s.ok()) {
    if (!std::exchange(stranger_told_, true)) RW_INFO(net, "@{}: {}; receivers in other processes share the NIC as TCP does", name_, s.message());
    return Dialled::stranger;
  }
  return watch(answer_, std::move(*dialled)) ? Dialled::connected : Dialled::stranger;  // a stranger's name is asked again later
}

// The serving process sends a memory and a pipe, each with a byte. A process that sends anything else is another program.
void SharedAccount::hear_answer(Watched&) {
  for (;;) {
    OwnedFd passed;
    std::array<std::byte, 1> word{};
    const ssize_t n = recv_with_fd(answer_.fd.get(), word, passed);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return reactor_.arm(answer_.fd.get(), answer_, EPOLLIN);
    if (n == 1 && passed && take_answer(std::move(passed))) {
      if (is_served()) return forget(answer_);
      continue;
    }
    forget(answer_);
    offered_ = {};
    return again_later();
  }
}

bool SharedAccount::take_answer(OwnedFd passed) {
  if (!offered_.memory) {
    Result<AccountFile> file = AccountFile::adopt(std::move(passed));
    if (file.ok()) offered_ = std::move(*file);
    return file.ok();
  }
  use(std::exchange(offered_, {}));
  if (!watch(pulse_, std::move(passed))) return false;
  served_since_ = now();
  return true;
}

// The process that served has ended. Pauses stay as long as they were where each process that serves ends at once.
void SharedAccount::hear_pulse(Watched&) {
  forget(pulse_);
  if (now() < served_since_ + kServedLeast) return again_later();
  again_ = kAgainFirst;
  open();
}

}  // namespace railweave::engine
