// A lane over one TCP connection.
//
// Lifetime: takes a socket that is connected, non-blocking and past the handshake. The destructor closes the socket,
// after 0.1 s at most with zero-copy. If the kernel then holds unread input, it resets the connection and discards
// bytes that the peer has not read. For an orderly end call finish_writing(), call read() until the peer's end, then
// destroy the lane.
// Errors: after the connection broke, read() first returns all bytes that the kernel still holds, then the error.
// write() returns blocked instead of the error, so that no byte of the peer is lost.
// Polling: level-triggered. After a read() that was not blocked call read() again: the lane's own buffer may hold
// bytes, which the descriptor does not show. EPOLLERR may mean a zero-copy notice, which read() and write() take.
// Threads: as wire.h says.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "railweave/units.h"
#include "wire/bootstrap/lane_acks.h"
#include "wire/tcp/frame_reader.h"
#include "wire/tcp/frame_writer.h"
#include "wire/tcp/lane_socket.h"
#include "wire/tcp/receive_window.h"
#include "wire/wire.h"

namespace railweave::wire {

struct TcpLaneOptions {
  std::size_t zerocopy_threshold_bytes = 0;  // payload of at least this size is sent with MSG_ZEROCOPY; 0: never
  Rate rate_hint;                            // the rail's speed. Bounds unsent bytes (TCP_NOTSENT_LOWAT) to those of
                                             // 200 us, from 128 KiB to 16 MiB; zero: the kernel's default
};

class TcpLane final : public Lane {
 public:
  // `rail`: the rail's name, for messages and metrics. `tls`: encrypts all bytes, after its handshake; null: in clear.
  TcpLane(OwnedFd socket, std::string rail, const TcpLaneOptions& options = {},
          std::unique_ptr<TlsStream> tls = nullptr);
  ~TcpLane() override;

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override { return why_ended_; }
  // If the kernel holds pages (zero-copy): resets the connection. The lane has ended when the kernel released the
  // pages, and after 0.1 s in any case.
  bool end() override;
  bool at_frame_boundary() const override { return writer_.idle() && socket_.settled(); }
  bool withdraw_payload(std::span<const std::byte> range) override { return writer_.withdraw(range); }
  void withdraw_target(std::span<const std::byte> range) override { reader_.withdraw(range); }
  // Costs one short system call, none while no bytes are outstanding, and TCP_INFO at most every 4 ms.
  LaneHealth health() override;
  // Costs one short system call.
  AckStatus ack_status() override;
  // Bounds the window that TCP advertises (ReceiveWindow). A lowered bound holds once all bytes allowed before arrived.
  bool bound_arrivals(std::uint64_t bytes) override;
  bool vouches_for_bytes() const override { return socket_.tls != nullptr; }
  const std::shared_ptr<LaneMetrics>& metrics() const override { return socket_.metrics; }
  Status finish_writing() override;
  int descriptor() const override { return socket_.fd.get(); }
  short prepare_to_wait(bool writing) override;

 private:
  void refresh_round_trip();

  LaneSocket socket_;
  FrameReader reader_;
  FrameWriter writer_;
  Status write_failure_;  // the connection broke in write(); read() reports the error
  LaneEnd why_ended_ = LaneEnd::closed;
  TimePoint ended_by_{};            // when end() stops waiting for pages; TimePoint{}: end() does not wait
  std::uint64_t acknowledged_ = 0;  // bytes acknowledged; never decreases
  Nanos min_rtt_{0}, smoothed_rtt_{0};
  TimePoint round_trip_at_{};  // when TCP_INFO was read for them last
  LaneAcks acks_;
  ReceiveWindow receive_window_;
};

}  // namespace railweave::wire
