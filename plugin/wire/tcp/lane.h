// A lane over one TCP connection.
//
// Life: takes a socket that is connected, non-blocking and past the handshake. The destructor closes at once; if unread
// input lies in the kernel then, the kernel resets the connection and throws away what the peer has not read yet. So
// who ends in peace calls finish_writing() and read() until the peer's end is seen, and then destroys the lane. Errors:
// when the connection breaks, read() first gives out all that the kernel still holds, then the error. write() does not
// report a broken connection itself: it says blocked, and read() reports; so nothing the peer said is lost. Polling:
// level-triggered. A read() that was not blocked may have left bytes in the lane's own buffer, which the descriptor
// does not show: call it again. EPOLLERR may mean a zero-copy notice: read() and write() both take it. Threads: as
// wire.h says.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "railweave/units.h"
#include "wire/tcp/frame_reader.h"
#include "wire/tcp/frame_writer.h"
#include "wire/tcp/lane_acks.h"
#include "wire/tcp/lane_socket.h"
#include "wire/tcp/receive_window.h"
#include "wire/wire.h"

namespace railweave::wire {

struct TcpLaneOptions {
  std::size_t zerocopy_threshold_bytes = 0;  // payload of at least this goes with MSG_ZEROCOPY; 0: never
  Rate rate_hint;                            // the rail's speed: bounds unsent bytes (TCP_NOTSENT_LOWAT) to about
                                             // 200 us of it, at least 128 KiB; zero: the kernel's default
};

class TcpLane final : public Lane {
 public:
  // `tls`: encrypts all of it; its handshake comes first. Null: none does.
  TcpLane(OwnedFd socket, std::string rail, const TcpLaneOptions& options = {},
          std::unique_ptr<TlsStream> tls = nullptr);
  ~TcpLane() override;

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override;
  Result<Moved> write(LaneHandler& handler) override;
  LaneEnd why_ended() const override { return why_ended_; }
  // Where the kernel holds pages (zero-copy): resets the connection, and has ended when the kernel let go, or 0.1 s
  // later.
  bool end() override;
  bool at_frame_boundary() const override { return writer_.idle() && socket_.settled(); }
  bool withdraw_payload(std::span<const std::byte> range) override { return writer_.withdraw(range); }
  void withdraw_target(std::span<const std::byte> range) override { reader_.withdraw(range); }
  // One short system call, none while nothing is outstanding; and TCP_INFO, at most every few milliseconds.
  LaneHealth health() override;
  // One short system call.
  AckStatus ack_status() override;
  // By the window that TCP advertises; a bound that is lowered holds when all has come that was allowed before.
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
  Status write_failure_;  // the connection broke under write(); read() is to report it
  LaneEnd why_ended_ = LaneEnd::closed;
  TimePoint ended_by_{};            // once end() was called and the kernel held pages: then the wait for them is over
  std::uint64_t acknowledged_ = 0;  // never goes back
  Nanos min_rtt_{0}, smoothed_rtt_{0};
  TimePoint round_trip_at_{};  // when they were asked for last
  LaneAcks acks_;
  ReceiveWindow receive_window_;
};

}  // namespace railweave::wire
