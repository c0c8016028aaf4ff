#include "wire/sim/pipe.h"

#include <algorithm>
#include <utility>

#include "wire/sim/connection.h"
#include "wire/sim/link.h"
#include "wire/sim/network.h"

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kPieceTimeMost = 20ms;  // transmission time of a piece
constexpr Nanos kTailProbe = 20ms;      // after this and two round trips, about, TCP retransmits the last packet
constexpr std::size_t kPieceBytesLeast = 200;

// Returns whether this cargo needs room in the receiver's buffer.
bool is_buffered(CargoKind kind) { return kind == CargoKind::stream; }

}  // namespace

void SimPipe::put(Cargo cargo) {
  if (stopped_) return;
  put_ += cargo.bytes.size();
  cargo_.push_back(std::move(cargo));
  kick();
}

void SimPipe::stop() {
  stopped_ = true;
  cargo_.clear();
}

void SimPipe::was_read(std::size_t bytes) {
  if (bytes == 0 || stopped_) return;
  net_.after(connection_.delay(), [self = hold(), bytes] {
    self->connection_.deliver(1 - self->direction_, [self, bytes] {
      self->connection_.heard(self->direction_);
      self->buffered_read_ += bytes;
      self->kick();
    });
  });
}

std::size_t SimPipe::window() const {
  const std::uint64_t used = buffered_sent_ - buffered_read_, all = link_.spec().receive_buffer_bytes;
  return used < all ? std::size_t(all - used) : 0;
}

bool SimPipe::can_send() const {
  return !stopped_ && !cargo_.empty() && (!is_buffered(cargo_.front().kind) || window() > 0);
}

std::shared_ptr<SimPipe> SimPipe::hold() { return {connection_.shared_from_this(), this}; }

void SimPipe::kick() {
  if (waiting_ || !can_send()) return;
  waiting_ = true;
  link_.wait(connection_.queue_of(direction_), hold());
}

void SimPipe::send_piece() {
  if (!can_send()) return;
  Cargo& cargo = cargo_.front();
  // On a slow link, pieces are as small as packets, or a lane behind a long piece would seem silent.
  const auto piece_most =
      std::min(link_.spec().piece_bytes, std::size_t(link_.spec().rate.bytes_in(kPieceTimeMost)) + kPieceBytesLeast);
  std::size_t n = std::min<std::size_t>(cargo.bytes.size(), 1 + net_.random_below(piece_most));
  if (is_buffered(cargo.kind)) n = std::min(n, window());
  auto piece = std::make_shared<SimPiece>();
  piece->kind = cargo.kind;
  piece->bytes.assign(cargo.bytes.begin(), cargo.bytes.begin() + std::ptrdiff_t(n));
  piece->sent_at = net_.now();
  cargo.bytes = cargo.bytes.subspan(n);
  if (cargo.bytes.empty()) cargo_.pop_front();
  if (is_buffered(piece->kind)) buffered_sent_ += n;
  if (!is_owed()) owed_since_ = net_.now();
  sent_ += n;
  link_.put(connection_.queue_of(direction_), n,
            [self = hold(), piece = std::move(piece)] { self->transmitted(piece); });
}

void SimPipe::transmitted(std::shared_ptr<SimPiece> piece) {
  lost_ = lost_ || connection_.loses_data();
  if (lost_) return;
  const LinkSpec& spec = link_.spec();
  TimePoint arrival = net_.now() + connection_.delay();
  if (net_.chance(spec.pause_probability))
    arrival += Nanos(net_.random_below(std::uint64_t(spec.pause_most.count()) + 1));
  last_arrival_ = std::max(last_arrival_, arrival);
  net_.at(last_arrival_, [self = hold(), piece = std::move(piece)] {
    self->connection_.deliver(self->direction_, [self, piece] { self->arrived(piece); });
  });
}

void SimPipe::arrived(std::shared_ptr<SimPiece> piece) {
  if (stopped_ || !connection_.arrived(1 - direction_, *piece)) return;
  net_.after(connection_.delay(), [self = hold(), piece = std::move(piece)] {
    self->connection_.deliver(1 - self->direction_, [self, piece] { self->acknowledged(*piece); });
  });
}

void SimPipe::acknowledged(const SimPiece& piece) {
  if (stopped_) return;
  acknowledged_ += piece.bytes.size();
  owed_since_ = net_.now();
  connection_.heard(direction_);
  const Nanos rtt = net_.now() - piece.sent_at;
  const bool sent_again = rtt >= kTailProbe + 2 * smoothed_rtt_;  // gives TCP no round-trip sample
  if (!sent_again) smoothed_rtt_ = smoothed_rtt_ == Nanos(0) ? rtt : smoothed_rtt_ + (rtt - smoothed_rtt_) / 8;
  if (min_rtt_ == Nanos(0) || rtt < min_rtt_) min_rtt_ = rtt;
  connection_.acknowledged(direction_);
}

}  // namespace railweave::wire
