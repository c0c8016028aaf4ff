#include "wire/message/lane.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace railweave::wire::message {

MessageLane::MessageLane(std::unique_ptr<Channel> channel, PeerSocket peer_socket, std::string_view wire,
                         std::string rail, const ChannelShape& peer)
    : peer_socket_(std::move(peer_socket)),
      metrics_(std::make_shared<LaneMetrics>(wire, std::move(rail), peer_socket_.local(), peer_socket_.remote())),
      rings_(std::move(channel), peer),
      reader_(metrics_->received),
      writer_(metrics_->sent) {
  join_descriptors();
}

// Without descriptors to spare the lane is polled by time, as over a channel that has none.
void MessageLane::join_descriptors() {
  if (rings_.channel().descriptor() < 0) return;
  OwnedFd joined(::epoll_create1(EPOLL_CLOEXEC));
  if (!joined) return;
  for (const int fd : {rings_.channel().descriptor(), peer_socket_.descriptor()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(joined.get(), EPOLL_CTL_ADD, fd, &event) != 0) return;
  }
  descriptor_ = std::move(joined);
}

Result<bool> MessageLane::is_proven() {
  if (is_proven_) return true;
  if (!poll()) return failure_;
  if (!probe_sent_ && !rings_.room().empty()) {
    probe_sent_ = true;
    if (!keep(rings_.send_probe())) return failure_;
  }
  check_peer();
  const auto first = rings_.next();
  if (!first) return failure_.ok() ? Result<bool>(false) : Result<bool>(failure_);
  if (!first->prefix.probe) {
    fail(Status(Code::remote, Scope::lane, "malformed block: the first one is no probe"), LaneEnd::closed);
    return failure_;
  }
  // Where packets pass one way only, the peer's probe arrives and ours does not.
  if (rings_.channel().left() == 0) return false;
  rings_.pop();
  return is_proven_ = true;
}

Result<Moved> MessageLane::read(LaneHandler& handler, std::size_t budget_bytes) {
  if (!refused_.ok()) return refused_;
  poll();
  release(handler);
  Moved moved;
  refused_ = read_blocks(handler, budget_bytes, moved.bytes);
  if (!refused_.ok()) return refused_;
  send_owed(is_idle(moved.bytes) || peer_finished_);
  if (moved.bytes == 0 && idle_reads_ % kIdleReadsPerCheck == 0) check_peer();  // may bring blocks
  moved.blocked = peer_finished_ || !rings_.next();
  if (moved.bytes > 0) return moved;
  if (Status end = read_end(); moved.blocked && !end.ok()) return end;
  return moved;
}

// Whether nothing has arrived for a while. `read_bytes`: by the read that asks.
bool MessageLane::is_idle(std::size_t read_bytes) {
  if (read_bytes > 0) {
    idle_reads_ = 0;
    read_at_ = now();
    return false;
  }
  return ++idle_reads_ >= kIdleReads || now() - read_at_ >= kIdleFor;
}

// Reads blocks until `bytes` reaches `budget`.
Status MessageLane::read_blocks(LaneHandler& handler, std::size_t budget, std::size_t& bytes) {
  while (bytes < budget && !peer_finished_) {
    const auto block = rings_.next();
    if (!block) break;
    if (block->prefix.probe)
      return named(Status(Code::remote, Scope::lane, "malformed block: a probe that is not the first block"));
    RW_ASSIGN_OR_RETURN(const std::size_t taken,
                        reader_.take(handler, block->stream.subspan(read_of_block_), budget - bytes));
    bytes += taken;
    read_of_block_ += taken;
    if (read_of_block_ < block->stream.size()) break;
    read_of_block_ = 0;
    peer_finished_ = block->prefix.last;
    rings_.pop();
  }
  return {};
}

// Returns why nothing more will be read; ok: something may arrive.
Status MessageLane::read_end() {
  if (!failure_.ok()) return failure_;
  return peer_finished_ ? named(closed_by_peer()) : Status();
}

Status MessageLane::closed_by_peer() const {
  const bool inside = reader_.inside_frame() || read_of_block_ > 0;
  return Status(Code::remote, Scope::lane,
                inside ? "closed by the peer in the middle of a frame" : "closed by the peer");
}

Result<Moved> MessageLane::write(LaneHandler& handler) {
  Moved moved;
  // Where there is room, news can wait for the next read(). Behind the peer's last block nobody calls read().
  const bool wants_news = rings_.room().empty() || peer_finished_;
  moved.blocked = !failure_.ok() || (wants_news && !poll());
  release(handler);
  while (!moved.blocked && moved.bytes < kTurnBytes) {
    const std::span<std::byte> room = rings_.room();
    moved.blocked = room.empty();
    if (room.empty()) break;
    BlockRings::Content content;
    content.bytes = writer_.fill(handler, room, !finishing_);
    if (content.bytes == 0) break;
    content.frames = writer_.take_copied_frames();
    content.stream_bytes = writer_.copied_bytes();
    moved.bytes += content.bytes;
    const bool sent = keep(rings_.send(content));
    if (content.frames > 0) handler.written(content.frames);
    moved.blocked = !sent || rings_.has_unsent();
  }
  send_owed(peer_finished_);
  return moved;
}

// Sends what is owed to the peer apart from frames: the last block, or a statement of free slots.
void MessageLane::send_owed(bool idle) {
  if (!failure_.ok()) return;
  if (finishing_ && !finished_ && writer_.idle() && !rings_.room().empty()) {
    BlockRings::Content content;
    content.stream_bytes = writer_.copied_bytes();
    content.last = finished_ = true;
    keep(rings_.send(content));
  }
  keep(rings_.state_credit(idle));
}

void MessageLane::release(LaneHandler& handler) {
  if (const std::size_t frames = rings_.release(); frames > 0) handler.released(frames);
}

bool MessageLane::poll() {
  if (!failure_.ok()) return false;
  const Status polled = rings_.poll();
  if (is_proven_) drop_statements();
  return keep(polled);
}

// Blocks that only stated credit need no read(): after the peer's last block nobody calls it any more.
void MessageLane::drop_statements() {
  for (auto block = rings_.next(); block && block->is_statement(); block = rings_.next()) rings_.pop();
}

// Blocks that arrived before the end of the socket are read first: the channel is polled after the socket.
void MessageLane::check_peer() {
  if (!failure_.ok()) return;
  peer_socket_.read();
  if (!peer_socket_.ended() || !poll()) return;
  fail(closed_by_peer(), *peer_socket_.ended());
}

// Fails the lane if `result` of the rings is an error. Returns result.ok().
bool MessageLane::keep(const Status& result) {
  if (!result.ok()) fail(result, rings_.why_failed());
  return result.ok();
}

// The first failure stays.
void MessageLane::fail(const Status& why, LaneEnd end) {
  if (!failure_.ok()) return;
  why_ended_ = end;
  failure_ = named(why);
}

LaneHealth MessageLane::health() {
  const SentBlocks& sent = rings_.sent();
  LaneHealth h;
  h.acknowledged_bytes = sent.acknowledged_bytes();
  h.outstanding_bytes = writer_.taken_bytes() - h.acknowledged_bytes;
  h.min_rtt = sent.min_rtt();
  h.smoothed_rtt = sent.smoothed_rtt();
  metrics_->outstanding_bytes.set(h.outstanding_bytes);
  metrics_->min_rtt_ns.set(std::uint64_t(h.min_rtt.count()));
  return h;
}

AckStatus MessageLane::ack_status() {
  if (failure_.ok()) keep(rings_.ask_if_late());
  return peer_socket_.ack_status(now(), health().outstanding_bytes > 0);
}

Status MessageLane::finish_writing() {
  finishing_ = true;
  send_owed(false);
  return {};
}

short MessageLane::prepare_to_wait(bool writing) {
  if (!failure_.ok() || !rings_.channel().prepare_to_wait()) return 0;
  check_peer();
  if (!poll() || rings_.next() || rings_.has_releasable()) return 0;
  send_owed(true);
  return !failure_.ok() || (writing && !rings_.room().empty()) ? short(0) : short(POLLIN);
}

Status MessageLane::named(const Status& why) const {
  return Status(why.code(), why.scope(),
                fmt::format("rail {}: {} to {}: {}", metrics_->rail, metrics_->local_address, metrics_->remote_address,
                            why.message()),
                why.system_errno());
}

}  // namespace railweave::wire::message
