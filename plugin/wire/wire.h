// A lane moves frames between two instances, in order. The lane treats headers as opaque bytes and payload as spans.
// The session (plugin/protocol) interprets both, through LaneHandler. wire/port.h says how lanes are made.
//
// Threads: one caller at a time: the holder of the lane's claim (engine), or the simulator. This covers read(),
// write(), withdraw_*(), health(), ack_status() and end(). read() and write() call the handler on the caller's thread.
// From there the handler may call health(), and nothing else that is listed here.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "railweave/stats.h"
#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/lane_metrics.h"

namespace railweave::wire {

inline constexpr std::size_t kHeaderBytes = 64;

struct OutFrame {
  std::array<std::byte, kHeaderBytes> header;
  std::span<const std::byte> payload;  // the sender's memory, referenced until released(); empty: a control frame
};

// The handler's answer to a header: where the frame's payload goes.
struct Target {
  std::span<std::byte> where;       // exactly the payload's length; data() == nullptr: read and discard
  bool read_while_landing = false;  // a poller reads `where` meanwhile, and relies on ascending order
};

struct LaneHealth {
  std::uint64_t outstanding_bytes = 0;   // taken from the handler and not acknowledged; headers included
  std::uint64_t acknowledged_bytes = 0;  // since the lane began, headers included; never decreases
  Nanos min_rtt{0};                      // 0: not known yet
  Nanos smoothed_rtt{0};                 // recent average, delayed acknowledgements included; 0: not known
};

// The cause of a lane's end.
enum class LaneEnd {
  closed,      // the peer ended the lane in good order
  reset,       // the peer's kernel or the network path broke the connection
  unanswered,  // the peer's kernel did not answer within the timeout of this host's kernel
  corrupted,   // the wire's own integrity check failed: the bytes that arrived are not the bytes sent
  refused,     // no process listens at the peer's address
  system,      // this host failed, for example for lack of memory
};

// Whether the peer's kernel answers, as this host's kernel sees. The default: the peer's kernel always answers.
struct AckStatus {
  TimePoint heard_at = TimePoint::max();  // time of the peer's last packet; max(): not measured
  std::optional<TimePoint> late_since;    // an answer is owed since then, longer than `usual`; none: not late
  std::optional<TimePoint> silent_since;  // an answer is owed since then, so long that the lane counts as silent
  Nanos usual{0};                         // the longest time for an answer that is not late
  bool owes = false;                      // the peer's kernel owes an answer
  // the answer owed is to a keepalive only; the kernel retransmits a keepalive later than a frame
  bool owes_keepalive = false;
  // the peer's window is closed: bytes written now stay here until the kernel's next window probe
  bool asks_later = false;
};

class LaneHandler {
 public:
  // Fills up to `frames.size()` frames to write now and returns their count. The lane takes each of them.
  virtual std::size_t next_frames(std::span<OutFrame> frames) = 0;
  // The `n` oldest frames taken and not yet written are completely in the kernel, the ring or the network.
  virtual void written(std::size_t n) = 0;
  // The lane and the kernel no longer reference the `n` oldest frames taken and not yet released.
  virtual void released(std::size_t n) = 0;
  // A header arrived. Returns where the payload goes. An error ends reading: the lane reads nothing after this header.
  virtual Result<Target> header(std::span<const std::byte, kHeaderBytes> header) = 0;
  // The frame of the last header is complete: its payload is in place, or discarded.
  virtual Status consumed(std::span<const std::byte, kHeaderBytes> header) = 0;

 protected:
  ~LaneHandler() = default;
};

struct Moved {
  std::size_t bytes = 0;  // headers and payload
  bool blocked = false;   // the kernel (or link) can take or give no more now
};

class Lane {
 public:
  // Closes the lane; the peer sees the end. Waits until the lane has ended (see end()), at most 0.1 s.
  virtual ~Lane() = default;

  // Moves about `budget_bytes` at most. Bytes in a read_while_landing target become visible in ascending order.
  // Not blocked: call again without waiting for the descriptor, because the lane may hold bytes itself.
  // Errors: each ends reading for good. Code::remote: the peer closed or reset the lane; reported after everything that
  // had arrived. Code::system. Otherwise the handler's error.
  virtual Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) = 0;
  // The cause of the lane's end. Meaningful after read() or write() failed with an error that is not the handler's.
  virtual LaneEnd why_ended() const = 0;
  // Ends the lane. Don't call read() or write() afterwards; other calls stay allowed.
  // True: the lane has ended. The destructor waits for nothing; after it neither wire nor device touches memory of
  // the callers. False: the lane is ending (an RDMA queue pair takes milliseconds); call again soon.
  // The default fits a lane that ends when its descriptor is closed.
  virtual bool end() { return true; }
  // Still works after read() saw the peer's orderly end (half-close). Once the connection broke, write() only returns
  // blocked, and read() reports the error. Errors: each ends the lane.
  virtual Result<Moved> write(LaneHandler& handler) = 0;
  // False while a taken frame waits to be written: a control frame would queue behind that frame.
  virtual bool at_frame_boundary() const = 0;
  // Copies unsent payload in `range` into memory of the lane. The lane does not read `range` after return.
  // False: the kernel holds pages of `range` (zero-copy) and reads them until the lane is destroyed. The caller must
  // destroy the lane before the pages are used for anything else.
  [[nodiscard]] virtual bool withdraw_payload(std::span<const std::byte> range) = 0;
  // Abandons a target that overlaps `range`: the lane discards the target's remaining bytes as they arrive. The lane
  // does not write to `range` after return.
  virtual void withdraw_target(std::span<const std::byte> range) = 0;
  virtual LaneHealth health() = 0;
  virtual AckStatus ack_status() { return {}; }
  // Bounds the bytes in flight to this end to about `bytes` from now on; kUnbounded: no bound but the wire's own.
  // True: the wire enforces the bound, so the peer may submit more than that. False: the peer must keep the bound, for
  // now at least. Call again after each read() that moved bytes.
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  virtual bool bound_arrivals(std::uint64_t /*bytes*/) { return false; }
  // True: bytes arrive as sent without the session's checksum: no network is in between, or TLS authenticates them.
  virtual bool vouches_for_bytes() const { return false; }
  // The same object for the lane's lifetime, written by the calls above. Threads: any thread may read the counters.
  virtual const std::shared_ptr<LaneMetrics>& metrics() const = 0;
  LaneStats stats() const { return metrics()->stats(); }
  // Half-closes after the frames taken so far; the lane takes no more. read() still works.
  virtual Status finish_writing() = 0;
  // A descriptor to poll (an epoll descriptor, for example), the same for the lane's lifetime. -1: none; poll the lane
  // by time.
  virtual int descriptor() const = 0;
  // The connection of the handshake, where this stays open beside the lane; -1: there is none beside descriptor(). A
  // forked child must close it: else the peer would not see this process end.
  virtual int bootstrap_descriptor() const { return -1; }
  // Call before waiting on descriptor(), level-triggered. Returns the poll events to wait for: POLLIN for input and the
  // peer's end and, if `writing`, the event for room to write what write() left. 0: don't wait, there is something to
  // read or write now. The answer holds until the descriptor was ready, or read() or write() moved bytes.
  virtual short prepare_to_wait(bool writing) { return short(POLLIN | (writing ? POLLOUT : 0)); }
};

}  // namespace railweave::wire
