#include "wire/tcp/frame_writer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "wire/overlap.h"

namespace railweave::wire {

FrameWriter::FrameWriter(LaneSocket& socket, std::size_t zerocopy_threshold_bytes)
    : socket_(socket), zerocopy_threshold_(zerocopy_threshold_bytes) {
  if (zerocopy_threshold_ > 0) zerocopy_.emplace(socket_.fd.get());
  const std::size_t ring = zerocopy_ && zerocopy_->worthwhile() ? kRingZeroCopy : kBatch;
  frames_.resize(ring);
  slots_.resize(ring);
}

Result<Moved> FrameWriter::write(LaneHandler& handler) {
  Moved moved;
  iovec iov[2 * kBatch];
  if (!socket_.opened()) {
    moved.blocked = true;
    return moved;
  }
  while (moved.bytes < kTurnBytes) {
    if (idle()) take(handler);
    if (idle()) {
      if (finishing_) RW_TRY(shut());
      // Without a frame to write, write() is not blocked, unless the kernel still holds every slot of the ring.
      moved.blocked = taken_ - released_ == frames_.size();
      return moved;
    }
    Gathered gathered = gather(iov);
    const ssize_t n = send(iov, gathered);
    if (n < 0) {
      if (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM) return socket_.failure("sendmsg", errno);
      moved.blocked = true;
      return moved;
    }
    advance(handler, std::size_t(n));
    moved.bytes += std::size_t(n);
    if (std::size_t(n) < gathered.bytes && !socket_.tls) {
      moved.blocked = true;
      return moved;
    }
  }
  if (finishing_ && idle()) RW_TRY(shut());
  return moved;
}

void FrameWriter::take(LaneHandler& handler) {
  if (finishing_) return;
  const std::size_t free = frames_.size() - std::size_t(taken_ - released_);
  const std::size_t to_end = frames_.size() - at(taken_);
  const std::span<OutFrame> room(frames_.data() + at(taken_), std::min({free, to_end, kBatch}));
  if (room.empty()) return;
  for (OutFrame& frame : room) frame.payload = {};
  const std::size_t n = handler.next_frames(room);
  assert(n <= room.size());
  taken_ += n;
}

bool FrameWriter::wants_zerocopy(const OutFrame& frame) const {
  return zerocopy_ && zerocopy_->worthwhile() && frame.payload.size() >= zerocopy_threshold_;
}

// A zero-copy frame is sent alone, so that its notice covers no other frame.
FrameWriter::Gathered FrameWriter::gather(std::span<iovec, 2 * kBatch> iov) {
  Gathered g;
  std::uint64_t i = written_;
  for (; i < taken_ && i < written_ + kBatch && g.bytes < kCallBytes && !g.zerocopy; ++i) {
    OutFrame& frame = frames_[at(i)];
    if (wants_zerocopy(frame)) {
      if (i != written_) break;
      g.zerocopy = true;
    }
    const std::size_t skip = i == written_ ? header_sent_ : 0;
    if (skip < kHeaderBytes) iov[g.pieces++] = {frame.header.data() + skip, kHeaderBytes - skip};
    if (!frame.payload.empty()) iov[g.pieces++] = {const_cast<std::byte*>(frame.payload.data()), frame.payload.size()};
    g.bytes += kHeaderBytes - skip + frame.payload.size();
  }
  g.more = i < taken_;
  return g;
}

ssize_t FrameWriter::send(std::span<iovec, 2 * kBatch> iov, Gathered& gathered) {
  for (;;) {
    const int flags = (gathered.more ? MSG_MORE : 0) | (gathered.zerocopy ? MSG_ZEROCOPY : 0);
    const ssize_t n = socket_.send(iov.first(gathered.pieces), flags);
    if (n >= 0) {
      if (gathered.zerocopy && n > 0) {
        Slot& slot = slots_[at(written_)];
        const std::uint32_t number = zerocopy_->sent();
        if (slot.sends++ == 0) {
          slot.first_send = number;
          slot.lent = frames_[at(written_)].payload;
        }
        ++slot.sends_owed;
        ++notices_owed_;
      }
      return n;
    }
    if (errno == ENOBUFS && gathered.zerocopy) {
      gathered.zerocopy = false;  // the socket's limit for notices (net.core.optmem_max) is reached: copy this frame
    } else if (errno != EINTR) {
      return n;
    }
  }
}

void FrameWriter::advance(LaneHandler& handler, std::size_t bytes) {
  handed_bytes_ += bytes;
  std::size_t whole = 0;
  while (!idle()) {
    OutFrame& frame = frames_[at(written_)];
    const std::size_t header = std::min(bytes, kHeaderBytes - header_sent_);
    header_sent_ += header;
    bytes -= header;
    const std::size_t payload = std::min(bytes, frame.payload.size());
    frame.payload = frame.payload.subspan(payload);
    bytes -= payload;
    socket_.sent.payload_bytes.add(payload);
    if (header_sent_ < kHeaderBytes || !frame.payload.empty()) break;
    header_sent_ = 0;
    ++written_;
    ++whole;
  }
  assert(written_ <= taken_ && (!idle() || bytes == 0));
  if (whole == 0) return;
  socket_.sent.frames.add(whole);
  handler.written(whole);
  release(handler);
}

void FrameWriter::release(LaneHandler& handler) {
  assert(released_ <= written_ && taken_ - released_ <= frames_.size());
  std::size_t n = 0;
  for (; released_ < written_ && slots_[at(released_)].sends_owed == 0; ++released_, ++n)
    slots_[at(released_)] = Slot{};
  if (n > 0) handler.released(n);
}

void FrameWriter::reap(LaneHandler& handler) {
  if (notices_owed_ == 0) return;
  read_notices();
  release(handler);
}

void FrameWriter::read_notices() {
  ZeroCopyNotice notice;
  while (notices_owed_ > 0 && zerocopy_->next_notice(socket_.fd.get(), notice)) {
    for (std::uint64_t i = released_; i < taken_; ++i) {
      Slot& slot = slots_[at(i)];
      for (std::uint32_t k = 0; k < slot.sends; ++k) {
        if (slot.first_send + k - notice.first > notice.last - notice.first) continue;  // modulo 2^32
        --slot.sends_owed;
        --notices_owed_;
      }
    }
  }
}

bool FrameWriter::has_let_go() {
  if (notices_owed_ > 0) read_notices();
  return notices_owed_ == 0;
}

bool FrameWriter::withdraw(std::span<const std::byte> range) {
  bool let_go = true;
  for (std::uint64_t i = released_; notices_owed_ > 0 && i < taken_; ++i) {
    const Slot& slot = slots_[at(i)];
    if (slot.sends_owed > 0 && overlap(slot.lent, range)) let_go = false;
  }
  for (std::uint64_t i = written_; i < taken_; ++i) {
    auto& payload = frames_[at(i)].payload;
    if (!overlap(payload, range)) continue;
    auto kept = std::make_unique_for_overwrite<std::byte[]>(payload.size());
    std::memcpy(kept.get(), payload.data(), payload.size());
    payload = {kept.get(), payload.size()};
    slots_[at(i)].kept = std::move(kept);
  }
  return let_go;
}

std::size_t FrameWriter::waiting_bytes() const {
  std::size_t bytes = 0;
  for (std::uint64_t i = written_; i < taken_; ++i) bytes += kHeaderBytes + frames_[at(i)].payload.size();
  return bytes - header_sent_;
}

Status FrameWriter::finish_writing() {
  finishing_ = true;
  return idle() && socket_.settled() ? shut() : Status();
}

Status FrameWriter::shut() {
  if (shut_) return Status();
  if (::shutdown(socket_.fd.get(), SHUT_WR) != 0) return socket_.failure("shutdown", errno);
  shut_ = true;
  return Status();
}

}  // namespace railweave::wire
