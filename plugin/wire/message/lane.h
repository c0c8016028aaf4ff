// A lane over a channel of blocks. Frames travel as one byte stream that is cut into blocks. The receiver copies
// payload from the slots to its place (docs/internals/message_wires.md).
//
// Lifetime: takes a channel that is connected, and the connection of the handshake. The destructor ends both and waits
// for nothing. Blocks that have not left are lost then. For an orderly end call finish_writing(), call read() until the
// peer's end, then destroy the lane.
// Threads: as wire.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "wire/message/block_rings.h"
#include "wire/message/channel.h"
#include "wire/message/peer_socket.h"
#include "wire/message/stream_reader.h"
#include "wire/message/stream_writer.h"
#include "wire/wire.h"

namespace railweave::wire::message {

class MessageLane final : public Lane {
 public:
  // `wire`, `rail`: names, for messages and metrics. `peer`: the shape of the peer's channel.
  MessageLane(std::unique_ptr<Channel> channel, PeerSocket peer_socket, std::string_view wire, std::string rail,
              const ChannelShape& peer);

  // Advances the proof of the path: each end sends a probe. True: ours left, so the peer's device has it, and the
  // peer's arrived. Call this until it is true, before any other call. Errors: as read().
  Result<bool> is_proven();

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override { return why_ended_; }
  // The device knows memory of the channel only, so the lane has ended when nobody calls read() or write() any more.
  bool end() override { return true; }
  bool at_frame_boundary() const override { return writer_.idle() && !rings_.has_unsent(); }
  bool withdraw_payload(std::span<const std::byte> range) override {
    writer_.withdraw(range);
    return true;
  }
  void withdraw_target(std::span<const std::byte> range) override { reader_.withdraw(range); }
  LaneHealth health() override;
  // Costs one system call, and two while blocks are unacknowledged, or three if a block asks for an answer.
  AckStatus ack_status() override;
  const std::shared_ptr<LaneMetrics>& metrics() const override { return metrics_; }
  Status finish_writing() override;
  int descriptor() const override { return descriptor_.get(); }
  int bootstrap_descriptor() const override { return peer_socket_.descriptor(); }
  short prepare_to_wait(bool writing) override;

 private:
  static constexpr std::size_t kTurnBytes = 1 * MiB;       // bytes moved by one write()
  static constexpr std::uint32_t kIdleReadsPerCheck = 32;  // a check costs a system call, and detects a dead peer
  // An end states its credit when so many reads found nothing, or none did for so long. Until then a block with stream
  // is likely to state it.
  static constexpr std::uint32_t kIdleReads = 8;
  static constexpr Nanos kIdleFor = std::chrono::microseconds(20);

  void join_descriptors();
  bool poll();  // false: the lane has failed
  void drop_statements();
  Status read_blocks(LaneHandler& handler, std::size_t budget, std::size_t& bytes);
  Status read_end();
  Status closed_by_peer() const;
  bool is_idle(std::size_t read_bytes);
  void send_owed(bool idle);
  void check_peer();
  void release(LaneHandler& handler);
  bool keep(const Status& result);
  void fail(const Status& why, LaneEnd end);
  Status named(const Status& why) const;

  PeerSocket peer_socket_;
  const std::shared_ptr<LaneMetrics> metrics_;
  BlockRings rings_;
  OwnedFd descriptor_;  // an epoll of channel and socket; none: the channel has no descriptor
  StreamReader reader_;
  StreamWriter writer_;

  Status failure_;  // of channel or peer, the first one, kept. read() returns it after everything that arrived before
  Status refused_;  // the handler's error, or a block that makes no sense, kept. Nothing is read behind it
  LaneEnd why_ended_ = LaneEnd::closed;
  std::size_t read_of_block_ = 0;  // bytes of the stream taken from the next block
  std::uint32_t idle_reads_ = 0;   // in a row
  TimePoint read_at_{};            // when a read moved something
  bool probe_sent_ = false, is_proven_ = false;
  bool finishing_ = false, finished_ = false;  // finished_: the last block was sent
  bool peer_finished_ = false;                 // the peer's last block was read
};

}  // namespace railweave::wire::message
