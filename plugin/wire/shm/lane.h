// A lane between two processes of one host: rings in shared memory, and one-copy reads of the peer's memory where the
// kernel permits them (docs/internals/shm.md).
//
// Lifetime: takes a connected AF_UNIX stream past the handshake, and the shared object that both ends agreed on. The
// destructor closes at once. The peer can still read bytes in the rings; payload offered and not fetched is lost. For
// an orderly end call finish_writing(), call read() until the peer's end, then destroy the lane.
// Threads: as wire.h says. Both lanes of one shared object may be in one process.
#pragma once

#include <array>
#include <cstdint>

#include "base/fd.h"
#include "wire/shm/peer.h"
#include "wire/shm/ring_reader.h"
#include "wire/shm/ring_writer.h"
#include "wire/shm/shared_object.h"
#include "wire/wire.h"

namespace railweave::wire {

struct ShmLaneOptions {
  shm::OneCopy one_copy = shm::OneCopy::measured;  // never: all payload goes through the rings, in both directions
};

class ShmLane final : public Lane {
 public:
  enum class End { maker, taker };  // this end made the shared object, or took it from the peer

  ShmLane(OwnedFd socket, shm::SharedObject object, End end, const ShmLaneOptions& options = {});

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override { return LaneEnd::closed; }  // a dead peer looks the same
  bool at_frame_boundary() const override { return writer_.idle(); }
  bool withdraw_payload(std::span<const std::byte> range) override {
    writer_.withdraw(range);
    return true;
  }
  void withdraw_target(std::span<const std::byte> range) override { reader_.withdraw(range); }
  LaneHealth health() override;
  bool vouches_for_bytes() const override { return true; }
  const std::shared_ptr<LaneMetrics>& metrics() const override { return peer_.metrics(); }
  Status finish_writing() override;
  int descriptor() const override { return peer_.descriptor(); }
  short prepare_to_wait(bool writing) override;

 private:
  void publish_secret(shm::Direction& mine);
  // True: the peer has ended. Inside an offered frame, a peer that finished writing may still copy the payload.
  bool ended() const { return peer_.gone() || (reader_.finished() && !reader_.inside_frame()); }

  std::array<std::uint8_t, shm::kSecretBytes> secret_;  // the peer reads these bytes here, to prove that it can
  shm::SharedObject object_;
  shm::Peer peer_;
  shm::Direction& mine_;  // written by this end
  shm::RingReader reader_;
  shm::RingWriter writer_;
  Status failure_;                // of read(), kept
  std::uint32_t idle_reads_ = 0;  // reads since the last bytes
};

}  // namespace railweave::wire
