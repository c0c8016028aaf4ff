#include "wire/tcp/lane.h"

#include <linux/sockios.h>
#include <linux/tcp.h>  // the kernel's tcp_info; libc's lacks min_rtt
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace railweave::wire {
namespace {

constexpr Nanos kLetGoMost = std::chrono::milliseconds(100);  // queues below TCP drain faster, unless they are stuck
constexpr Nanos kNoticePoll = std::chrono::microseconds(100);
constexpr Nanos kRoundTripEvery = std::chrono::milliseconds(4);
constexpr Nanos kUnsentTime = std::chrono::microseconds(200);       // at the rail's speed
constexpr double kUnsentLeast = 128 * KiB, kUnsentMost = 16 * MiB;  // bytes

bool ask_tcp_info(int fd, tcp_info& info) {
  socklen_t size = sizeof info;
  info = {};
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
}

std::uint64_t ask_queue(int fd, unsigned long request) {
  int bytes = 0;
  return ::ioctl(fd, request, &bytes) == 0 && bytes > 0 ? std::uint64_t(bytes) : 0;
}

Nanos min_rtt_of(const tcp_info& info) {
  return info.tcpi_min_rtt == UINT32_MAX ? Nanos(0) : std::chrono::microseconds(info.tcpi_min_rtt);
}

}  // namespace

TcpLane::TcpLane(OwnedFd socket, std::string rail, const TcpLaneOptions& options, std::unique_ptr<TlsStream> tls)
    : socket_(std::move(socket), std::move(rail), std::move(tls)),
      reader_(socket_),
      writer_(socket_, socket_.tls ? 0 : options.zerocopy_threshold_bytes) {
  (void)socket_.opened();  // sends a dialler's ClientHello at once
  if (options.rate_hint.bytes_per_s <= 0) return;
  const int unsent = int(std::clamp(options.rate_hint.bytes_in(kUnsentTime), kUnsentLeast, kUnsentMost));
  (void)::setsockopt(descriptor(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);  // errors are harmless
}

// Sleeps instead of calling poll(), which would return at once because of the reset.
TcpLane::~TcpLane() {
  while (!end()) std::this_thread::sleep_for(kNoticePoll);
}

// Without a reset the kernel would keep sending from memory that is about to be reused. The reset makes the kernel
// release unsent data, but not packets in its queues, which leave before the reset.
bool TcpLane::end() {
  if (!writer_.notices_owed()) return true;
  if (ended_by_ == TimePoint{}) {
    ended_by_ = now() + kLetGoMost;
    const linger at_once{1, 0};
    (void)::setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
    if (::connect(descriptor(), &nobody, sizeof nobody) != 0) ended_by_ = now();
  }
  return writer_.has_let_go() || now() >= ended_by_;
}

Result<Moved> TcpLane::read(LaneHandler& handler, std::size_t budget_bytes) {
  writer_.reap(handler);
  auto moved = reader_.read(handler, budget_bytes);
  // A reset that write() met looks like an orderly end of input here. The error of write() names the cause.
  const bool out_of_input = moved.ok() ? moved->blocked && moved->bytes == 0 : reader_.at_end();
  if (out_of_input && !write_failure_.ok()) moved = write_failure_;
  if (!moved.ok()) why_ended_ = lane_end_of(moved.status().system_errno());
  return moved;
}

Result<Moved> TcpLane::write(LaneHandler& handler) {
  if (!write_failure_.ok()) return Moved{0, true};
  writer_.reap(handler);
  auto moved = writer_.write(handler);
  if (moved.ok()) return moved;
  why_ended_ = lane_end_of(moved.status().system_errno());
  if (why_ended_ == LaneEnd::system || why_ended_ == LaneEnd::corrupted) return moved;
  write_failure_ = moved.status();
  return Moved{0, true};
}

bool TcpLane::bound_arrivals(std::uint64_t bytes) {
  static_assert(kUnbounded == ReceiveWindow::kAny);
  const std::uint64_t received =
      socket_.received.payload_bytes.value() + kHeaderBytes * socket_.received.frames.value();
  return receive_window_.bound(descriptor(), bytes, received);
}

AckStatus TcpLane::ack_status() {
  tcp_info info;
  return ask_tcp_info(descriptor(), info) ? acks_.observe(now(), info) : AckStatus{};
}

LaneHealth TcpLane::health() {
  LaneHealth h;
  const std::uint64_t handed = writer_.bytes_in_kernel();
  if (acknowledged_ < handed) {
    std::uint64_t queued = ask_queue(descriptor(), SIOCOUTQ);
    if (writer_.finished() && queued > 0) --queued;
    if (socket_.tls) queued -= std::min(queued, socket_.tls->uncounted_bytes());
    acknowledged_ = std::max(acknowledged_, handed - std::min(handed, queued));
  }
  h.acknowledged_bytes = acknowledged_;
  h.outstanding_bytes = handed - acknowledged_ + writer_.waiting_bytes();
  socket_.metrics->outstanding_bytes.set(handed - acknowledged_);
  refresh_round_trip();
  h.min_rtt = min_rtt_;
  h.smoothed_rtt = smoothed_rtt_;
  return h;
}

void TcpLane::refresh_round_trip() {
  const TimePoint t = now();
  if (round_trip_at_ != TimePoint{} && t - round_trip_at_ < kRoundTripEvery) return;
  round_trip_at_ = t;
  tcp_info info;
  if (!ask_tcp_info(descriptor(), info)) return;
  min_rtt_ = min_rtt_of(info);
  smoothed_rtt_ = std::chrono::microseconds(info.tcpi_rtt);
  LaneMetrics& metrics = *socket_.metrics;
  metrics.retransmits.set(info.tcpi_total_retrans);
  metrics.rate_bytes_per_s.set(info.tcpi_delivery_rate);
  metrics.min_rtt_ns.set(std::uint64_t(min_rtt_.count()));
}

// Room in the socket must not wake a handshake that waits for the peer.
short TcpLane::prepare_to_wait(bool writing) {
  const TlsStream* const tls = socket_.tls.get();
  if (!tls) return Lane::prepare_to_wait(writing);
  if (tls->failure()) return 0;  // read() returns the error
  return short(POLLIN | (tls->pending() || (writing && tls->open()) ? POLLOUT : 0));
}

Status TcpLane::finish_writing() { return writer_.finish_writing(); }

}  // namespace railweave::wire
