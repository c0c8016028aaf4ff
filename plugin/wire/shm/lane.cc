#include "wire/shm/lane.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace railweave::wire {
namespace {

constexpr std::uint32_t kIdleReadsPerCheck = 32;  // a check costs a system call, and detects a dead peer
// The lane's round trip, about one turn of a polling peer. The wire measures none.
constexpr Nanos kTurn = std::chrono::microseconds(5);

constexpr int index_written_by(ShmLane::End end) { return end == ShmLane::End::maker ? 0 : 1; }

}  // namespace

ShmLane::ShmLane(OwnedFd socket, shm::SharedObject object, End end, const ShmLaneOptions& options)
    : secret_(random_id()),
      object_(std::move(object)),
      peer_(std::move(socket)),
      mine_(object_.direction(index_written_by(end))),
      reader_(object_.direction(1 - index_written_by(end)), object_.ring(1 - index_written_by(end)),
              object_.direction(1 - index_written_by(end)).waits, peer_, options.one_copy),
      writer_(mine_, object_.ring(index_written_by(end)), object_.direction(1 - index_written_by(end)).waits, peer_,
              options.one_copy != shm::OneCopy::never) {
  object_.close_fd();
  publish_secret(mine_);
  peer_.metrics()->min_rtt_ns.set(std::uint64_t(kTurn.count()));
}

void ShmLane::publish_secret(shm::Direction& mine) {
  for (std::size_t i = 0; i < secret_.size(); ++i) mine.secret[i].store(secret_[i], std::memory_order_relaxed);
  mine.secret_address.store(reinterpret_cast<std::uintptr_t>(secret_.data()), std::memory_order_release);
}

Result<Moved> ShmLane::read(LaneHandler& handler, std::size_t budget_bytes) {
  if (!failure_.ok()) return failure_;
  Result<Moved> moved = reader_.read(handler, budget_bytes);
  if (!moved.ok()) return failure_ = moved.status();
  // Reap after reading: a caller that has read an acknowledgement then finds its frames released.
  if (Status s = writer_.reap(handler); !s.ok()) return failure_ = s;
  if (!moved->blocked || moved->bytes > 0) {
    idle_reads_ = 0;
    return moved;
  }
  if (++idle_reads_ % kIdleReadsPerCheck == 0) peer_.check_alive();
  // Input that the peer put before its end is read first.
  if (ended() && !reader_.has_input()) return failure_ = peer_.closed(reader_.inside_frame());
  return moved;
}

Result<Moved> ShmLane::write(LaneHandler& handler) {
  if (peer_.gone()) return Moved{0, true};
  return writer_.write(handler);
}

short ShmLane::prepare_to_wait(bool writing) {
  peer_.drain_wakeups();  // wake-ups for input already read would wake the caller at once
  mine_.waits.store(shm::kForInput | (writing ? shm::kForRoom : 0u), std::memory_order_seq_cst);
  const bool input = failure_.ok() && (reader_.has_input() || ended());
  if (!input && !writer_.is_asked_to_copy() && !(writing && writer_.could_move())) return POLLIN;
  mine_.waits.store(0, std::memory_order_relaxed);
  return 0;
}

LaneHealth ShmLane::health() {
  LaneHealth h;
  h.acknowledged_bytes = writer_.acknowledged_bytes();
  h.outstanding_bytes = writer_.taken_bytes() - h.acknowledged_bytes;
  h.min_rtt = kTurn;
  peer_.metrics()->outstanding_bytes.set(h.outstanding_bytes);
  return h;
}

Status ShmLane::finish_writing() {
  writer_.finish_writing();
  return Status();
}

}  // namespace railweave::wire
