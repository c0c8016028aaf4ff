#include "collectives/shared_memory/neighbours.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.h"

namespace railweave::collectives {
namespace {

ssize_t read_of(pid_t pid, const std::byte* there, std::byte* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{const_cast<std::byte*>(there), bytes};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

}  // namespace

Result<Neighbours> Neighbours::prove(std::span<const NeighbourProof> proofs, int own_rank) {
  Neighbours all;
  for (const NeighbourProof& proof : proofs) {
    const int rank = int(all.of_.size());
    Neighbour& one = all.of_.emplace_back();
    one.pid = pid_t(proof.pid);
    if (rank == own_rank) continue;
    one.lives = OwnedFd(int(::syscall(SYS_pidfd_open, one.pid, 0)));
    if (!one.lives) return system_error(Scope::session, fmt::format("pidfd_open of rank {} (pid {})", rank, one.pid));
    std::array<std::uint8_t, NeighbourProof::kSecretBytes> found{};
    RW_TRY(all.read(rank, reinterpret_cast<const std::byte*>(proof.address), std::as_writable_bytes(std::span(found))));
    if (found != proof.secret)
      return Status(Code::system, Scope::session,
                    fmt::format("pid {} of this pid namespace is not rank {}", one.pid, rank));
  }
  return all;
}

bool Neighbours::readable(std::span<const std::byte> data) {
  std::byte byte{};
  const auto reads = [&](const std::byte& there) { return read_of(::getpid(), &there, &byte, 1) == 1; };
  return data.empty() || (reads(data.front()) && reads(data.back()));
}

Status Neighbours::read(int rank, const std::byte* there, std::span<std::byte> to) const {
  const Neighbour& one = of_[std::size_t(rank)];
  int err = 0;
  while (!to.empty()) {
    const ssize_t n = read_of(one.pid, there, to.data(), to.size());
    if (n <= 0) {
      err = n < 0 ? errno : EFAULT;
      break;
    }
    there += n;
    to = to.subspan(std::size_t(n));
  }
  // Checks the pidfd after the read: another process may have the pid by now, and its bytes and refusals do not count.
  pollfd ended{one.lives.get(), POLLIN, 0};
  if (err == ESRCH || (one.lives && ::poll(&ended, 1, 0) > 0))
    return Status(Code::remote, Scope::session,
                  fmt::format("rank {} is lost: its process (pid {}) ended", rank, one.pid));
  return err == 0
             ? Status()
             : system_error(Scope::session, fmt::format("process_vm_readv from rank {} (pid {})", rank, one.pid), err);
}

}  // namespace railweave::collectives
