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
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {
namespace {

constexpr Nanos kServedLeast = std::chrono::milliseconds(100);  // a process that serves for less counts as a failed try

}  // namespace

SharedAccount::SharedAccount(Reactor& reactor, int interface_index)
    : reactor_(reactor),
      name_(name(interface_index)),
      listener_(reactor),
      answer_(*this, &SharedAccount::on_answer),
      pulse_(*this, &SharedAccount::on_pulse) {}

std::string SharedAccount::name(int interface_index) {
  return fmt::format("railweave-account-{}-{}-{}", AccountMemory::kVersion, ::geteuid(), interface_index);
}

// Dials again where serve() failed: another process may have begun to serve since the first dial().
void SharedAccount::open() {
  Dialled dialled = dial();
  if (dialled == Dialled::nobody && serve()) return;
  if (dialled == Dialled::nobody) dialled = dial();
  if (dialled == Dialled::in_vain) again_ = kAgainMost;
  if (dialled != Dialled::connected) again_later();
}

void SharedAccount::close() {
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  listener_.close();
  for (Watched* each : {&answer_, &pulse_}) forget(*each);
  for (OwnedFd* each : {&life_, &pulse_out_, &file_.fd}) release(*each);
  drop_offered();
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
  release(watched.fd);
}

void SharedAccount::release(OwnedFd& guarded) {
  if (!guarded) return;
  release_descriptor(guarded.get());
  guarded.reset();
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
  release(file_.fd);
  file_ = std::move(file);
  guard_descriptor(file_.fd.get());
}

// --- this process serves

bool SharedAccount::serve() {
  if (!listener_.open(name_).ok()) return false;
  if (!prepare() || !listener_.serve([this](OwnedFd fd) { hand_out(fd.get()); }).ok()) {
    listener_.close();
    for (OwnedFd* each : {&life_, &pulse_out_}) release(*each);
    return false;
  }
  again_ = kAgainFirst;
  return true;
}

bool SharedAccount::prepare() {
  if (!file_.memory) {
    Result<AccountFile> file = AccountFile::make();
    if (!file.ok()) return false;
    use(std::move(*file));
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return false;
  pulse_out_.reset(ends[0]);
  life_.reset(ends[1]);
  guard_descriptor(life_.get());  // a forked child that kept the write end would seem to serve
  guard_descriptor(pulse_out_.get());
  return true;
}

void SharedAccount::hand_out(int connection) {
  constexpr std::array<std::byte, 1> kWord{};
  if (send_with_fd(connection, kWord, file_.fd.get()) == 1) (void)send_with_fd(connection, kWord, pulse_out_.get());
}

// --- another process serves

SharedAccount::Dialled SharedAccount::dial() {
  Result<OwnedFd> dialled = dial_abstract(name_);
  if (!dialled.ok()) return Dialled::nobody;
  if (Status s = check_same_user(dialled->get()); !s.ok()) {
    if (!std::exchange(other_user_logged_, true))
      RW_INFO(net, "@{}: {}; receivers in other processes share the NIC as TCP does", name_, s.message());
    return Dialled::in_vain;
  }
  return watch(answer_, std::move(*dialled)) ? Dialled::connected : Dialled::in_vain;
}

// The serving process sends a memory and a pipe, each with a byte. A process that sends anything else is another
// program.
void SharedAccount::on_answer(Watched&) {
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
    drop_offered();
    return again_later();
  }
}

void SharedAccount::drop_offered() {
  release(offered_.fd);
  offered_ = {};
}

bool SharedAccount::take_answer(OwnedFd passed) {
  if (!offered_.memory) {
    Result<AccountFile> file = AccountFile::adopt(std::move(passed));
    if (!file.ok()) return false;
    offered_ = std::move(*file);
    guard_descriptor(offered_.fd.get());
    return true;
  }
  release_descriptor(offered_.fd.get());
  use(std::exchange(offered_, {}));
  if (!watch(pulse_, std::move(passed))) return false;
  served_since_ = now();
  return true;
}

// The serving process has ended. Where each serving process ends at once, pauses are not reset to kAgainFirst.
void SharedAccount::on_pulse(Watched&) {
  forget(pulse_);
  if (now() < served_since_ + kServedLeast) return again_later();
  again_ = kAgainFirst;
  open();
}

}  // namespace railweave::engine
