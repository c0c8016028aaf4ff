#include "wire/shm/peer.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace railweave::wire::shm {

Peer::Peer(OwnedFd socket) : socket_(std::move(socket)) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) pid_ = credentials.pid;
  const std::string local = "pid " + std::to_string(::getpid()), remote = "pid " + std::to_string(pid_);
  name_ = "rail shm: " + local + " to " + remote;
  metrics_ = std::make_shared<LaneMetrics>("shm", "shm", local, remote);
}

Status Peer::closed(bool inside_frame) const {
  return Status(Code::remote, Scope::lane,
                name_ + ": closed by the peer" + (inside_frame ? " in the middle of a frame" : ""));
}

// Uses poll(), because wake-ups not read yet would hide the end from recv().
bool Peer::check_alive() {
  if (gone_) return false;
  pollfd p{descriptor(), POLLRDHUP, 0};
  gone_ = ::poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
  return !gone_;
}

void Peer::drain_wakeups() {
  std::array<char, 64> bytes;
  for (ssize_t n = ssize_t(bytes.size()); n == ssize_t(bytes.size());) {
    do n = ::recv(descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno != EAGAIN)) gone_ = true;
  }
}

void Peer::wake(std::atomic<std::uint32_t>& waits, std::uint32_t what) {
  if ((waits.load(std::memory_order_seq_cst) & what) == 0) return;
  if ((waits.exchange(0, std::memory_order_seq_cst) & what) == 0) return;
  metrics_->sent.calls.add();
  const char byte = 1;
  // Errors are ignored: a full socket wakes the peer as well, and check_alive() finds a dead peer.
  (void)::send(descriptor(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t Peer::fetch(std::uint64_t address, std::byte* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  metrics_->received.calls.add();
  const ssize_t n = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  return n < 0 ? -errno : n;
}

}  // namespace railweave::wire::shm
