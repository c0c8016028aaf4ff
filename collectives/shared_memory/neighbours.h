// The memory of the processes that the other ranks of a host are, read by process_vm_readv; what wire::shm::Peer is to
// a lane.
// Threads: as for a value; reading: any, one at a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::collectives {

// What a process tells the others so that they can prove that they read its memory, and no other's.
struct NeighbourProof {
  static constexpr std::size_t kSecretBytes = 16;
  std::int64_t pid = 0;
  std::uint64_t address = 0;  // of the secret, which lies there until all have told whether they read it
  std::array<std::uint8_t, kSecretBytes> secret{};
};

class Neighbours {
 public:
  // proofs[r]: what rank r told. Errors: the first that cannot be read: Yama, other process namespaces, an old kernel.
  static Result<Neighbours> prove(std::span<const NeighbourProof> proofs, int own_rank);
  // Whether others can read this process's memory at `data`: that of a device, say, they cannot.
  static bool readable(std::span<const std::byte> data);

  // Reads all of it. Errors: remote (that rank is lost: its process ended), system.
  Status read(int rank, const std::byte* there, std::span<std::byte> to) const;

 private:
  struct Neighbour {
    pid_t pid = 0;
    OwnedFd lives;  // a pidfd; empty: this rank itself
  };
  std::vector<Neighbour> of_;
};

}  // namespace railweave::collectives
