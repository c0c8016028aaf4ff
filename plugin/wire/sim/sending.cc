#include "wire/sim/sending.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/overlap.h"

namespace railweave::wire {
namespace {

std::unique_ptr<std::byte[]> copy_of(std::span<const std::byte> bytes) {
  auto own = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
  std::memcpy(own.get(), bytes.data(), bytes.size());
  return own;
}

void keep(std::span<const std::byte>& payload, std::unique_ptr<std::byte[]>& own, std::span<const std::byte> range) {
  if (own || !overlap(payload, range)) return;
  own = copy_of(payload);
  payload = {own.get(), payload.size()};
}

}  // namespace

std::size_t SimSending::room() const {
  std::uint64_t used = pipe_.put_bytes() - pipe_.acknowledged_bytes() + copied_.size();
  return used < buffer_bytes_ ? std::size_t(buffer_bytes_ - used) : 0;
}

Moved SimSending::write(LaneHandler& handler) {
  Moved moved;
  while (true) {
    if (room() == 0) {
      moved.blocked = true;
      break;
    }
    if (taken_.empty() && !take(handler)) break;
    moved.bytes += copy_front(handler);
  }
  put_copied();
  end_if_finished();
  return moved;
}

bool SimSending::take(LaneHandler& handler) {
  if (finishing_) return false;
  std::array<OutFrame, 4> asked{};
  const std::size_t n = handler.next_frames(asked);
  for (std::size_t i = 0; i < n; ++i) {
    taken_.push_back({asked[i], 0, nullptr});
    waiting_bytes_ += kHeaderBytes + asked[i].payload.size();
  }
  return n > 0;
}

// Copies the oldest frame into the send buffer as far as there is room, and returns the bytes copied.
std::size_t SimSending::copy_front(LaneHandler& handler) {
  Taken& t = taken_.front();
  const std::size_t header = std::min(room(), kHeaderBytes - t.header_sent);
  const std::size_t payload = std::min(room() - header, t.frame.payload.size());
  const auto unsent = t.frame.header.begin() + std::ptrdiff_t(t.header_sent);
  copied_.insert(copied_.end(), unsent, unsent + std::ptrdiff_t(header));
  copied_.insert(copied_.end(), t.frame.payload.begin(), t.frame.payload.begin() + std::ptrdiff_t(payload));
  t.header_sent += header;
  t.frame.payload = t.frame.payload.subspan(payload);
  waiting_bytes_ -= header + payload;
  counters->payload_bytes.add(payload);
  if (t.header_sent == kHeaderBytes && t.frame.payload.empty()) {
    taken_.pop_front();
    counters->frames.add();
    handler.written(1);
    handler.released(1);
  }
  return header + payload;
}

void SimSending::put_copied() {
  if (copied_.empty()) return;
  Cargo cargo;
  cargo.own = copy_of(copied_);
  cargo.bytes = {cargo.own.get(), copied_.size()};
  copied_.clear();
  pipe_.put(std::move(cargo));
}

void SimSending::withdraw(std::span<const std::byte> range) {
  for (Taken& t : taken_) keep(t.frame.payload, t.own, range);
}

void SimSending::finish() {
  finishing_ = true;
  end_if_finished();
}

void SimSending::end_if_finished() {
  if (!finishing_ || ended_ || !taken_.empty()) return;
  ended_ = true;
  Cargo end;
  end.kind = CargoKind::end;
  pipe_.put(std::move(end));
}

void SimSending::abandon() {
  taken_.clear();
  waiting_bytes_ = 0;
  finish();
}

}  // namespace railweave::wire
