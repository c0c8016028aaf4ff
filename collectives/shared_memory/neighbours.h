// Reads the memory of the other ranks' processes on this host (process_vm_readv), as wire::shm::Peer does for a lane.
// Threads: as for a value; read(): any, one at a time.
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

// Evidence that a process announces: with it, other ranks prove that they read this process's memory and no other's.
struct NeighbourProof {
  static constexpr std::size_t kSecretBytes = 16;
  std::int64_t pid = 0;
  std::uint64_t address = 0;  // of the secret, which stays there until all have announced whether they read it
  std::array<std::uint8_t, kSecretBytes> secret{};
};

class Neighbours {
 public:
  // Reads each rank's secret. proofs[r]: announced by rank r. Errors: of the first rank that cannot be read (Yama,
  // another process namespace, an old kernel).
  static Result<Neighbours> prove(std::span<const NeighbourProof> proofs, int own_rank);
  // Returns true if other processes can read this process's memory at `data`. Memory of a device, for example, is not
  // readable.
  static bool readable(std::span<const std::byte> data);

  // Reads to.size() bytes at `there`, an address in the rank's process. Errors: remote (the rank is lost: its process
  // ended), system.
  Status read(int rank, const std::byte* there, std::span<std::byte> to) const;

 private:
  struct Neighbour {
    pid_t pid = 0;
    OwnedFd lives;  // a pidfd; empty for this rank itself
  };
  std::vector<Neighbour> of_;  // by rank
};

}  // namespace railweave::collectives
