// A lane between two processes of one host: rings in shared memory, and one-copy reads of the peer's memory where the
// kernel permits them (docs/internals/shm.md).
//
// Life: takes a connected AF_UNIX stream that is past the handshake, and the shared object that its two ends agreed on.
// The destructor closes at once: what lies in the rings the peer still reads, what was offered and not fetched is lost.
// So who ends in peace calls finish_writing() and read() until the peer's end is seen, and then destroys the lane.
// Threads: as wire.h says. Two lanes of one shared object may be of one process.
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
  shm::OneCopy one_copy = shm::OneCopy::measured;  // never: all payload goes by the rings, both ways
};

class ShmLane final : public Lane {
 public:
  enum class End { maker, taker };  // of the shared object; one each

  ShmLane(OwnedFd socket, shm::SharedObject object, End end, const ShmLaneOptions& options = {});

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override { return LaneEnd::closed; }  // a peer that died looks the same
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
  void tell_secret(shm::Direction& mine);
  // The peer has ended. A peer that finished writing may still copy what it offered.
  bool ended() const { return peer_.gone() || (reader_.finished() && !reader_.inside_frame()); }

  std::array<std::uint8_t, shm::kSecretBytes> secret_;  // the peer reads it here, to prove that it can
  shm::SharedObject object_;
  shm::Peer peer_;
  shm::Direction& mine_;  // that we write
  shm::RingReader reader_;
  shm::RingWriter writer_;
  Status failure_;  // of reading; sticks
  std::uint32_t idle_reads_ = 0;
};

}  // namespace railweave::wire
