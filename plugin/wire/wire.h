// A lane moves frames between two instances. It knows headers as opaque bytes and payload as spans; what they mean is
// the session's business (plugin/protocol), reached through LaneHandler. How lanes are made: wire/port.h.
//
// Threads: whoever holds the lane's claim (engine) or the simulator calls read(), write(), withdraw_*(), health(),
// ack_status() and end(), one at a time. Handler calls come from inside read() and write(), on that thread, never
// re-entering the lane.
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
  std::span<const std::byte> payload;  // referenced, not copied, until released(); empty for control frames
};

// The answer to a header: where the frame's payload goes.
struct Target {
  std::span<std::byte> where;       // exactly the payload's length; data == nullptr: read and throw away
  bool read_while_landing = false;  // somebody reads it meanwhile, and relies on ascending order
};

struct LaneHealth {
  std::uint64_t outstanding_bytes = 0;   // taken by us, not acknowledged by the peer's side (header bytes included)
  std::uint64_t acknowledged_bytes = 0;  // ever
  Nanos min_rtt{0};                      // 0: not known yet
  Nanos smoothed_rtt{0};                 // of late, held-back acknowledgements included; 0: not known
};

// Why a lane ended.
enum class LaneEnd {
  closed,      // the peer ended the lane in good order
  reset,       // the peer's kernel, or something on the path, broke the connection
  unanswered,  // the peer's kernel did not answer for as long as ours waits
  corrupted,   // the wire's own check failed: what arrived is not what was sent
  refused,     // the peer's host has nobody there
  system,      // this host failed: no memory, say
};

// What the peer's kernel says, if only that it is there. The default: it is always there.
struct AckStatus {
  TimePoint heard_at = TimePoint::max();  // when anything came last
  // since when it owes an answer, if that is for longer than answers take here
  std::optional<TimePoint> late_since;
  std::optional<TimePoint> silent_since;  // likewise, if for so long that the lane counts as silent
  Nanos usual{0};                         // an answer takes no longer here, unless it is late
  bool owes = false;                      // an answer
  // only to a keepalive, which the kernel sends again late: a frame would be sent again sooner
  bool owes_keepalive = false;
  // its window is shut: what we send stays here until the kernel asks again by itself
  bool asks_later = false;
};

class LaneHandler {
 public:
  // Fills up to `frames.size()` frames to write now; returns how many. The lane takes each one returned.
  virtual std::size_t next_frames(std::span<OutFrame> frames) = 0;
  // The `n` oldest frames taken and not yet written are wholly handed over (kernel or network).
  virtual void written(std::size_t n) = 0;
  // The `n` oldest frames taken and not yet released are no longer referenced by the lane or the kernel.
  virtual void released(std::size_t n) = 0;
  // A header arrived. The answer says where its payload goes. An error gives the lane up: nothing after it is read.
  virtual Result<Target> header(std::span<const std::byte, kHeaderBytes> header) = 0;
  // The frame whose header came last is wholly in place.
  virtual Status consumed(std::span<const std::byte, kHeaderBytes> header) = 0;

 protected:
  ~LaneHandler() = default;
};

struct Moved {
  std::size_t bytes = 0;  // headers and payload
  bool blocked = false;   // the kernel (or link) would take or give no more now
};

class Lane {
 public:
  // Closes the lane; the peer sees the end of it. Waits until the lane has ended (end()): 0.1 s at most.
  virtual ~Lane() = default;

  // Moves at most about `budget_bytes`; what is read into a read_while_landing target
  // becomes visible in ascending order. Errors end reading for good:
  // Code::remote (the peer's end closed or reset it; only after everything it had sent), Code::system, or what the
  // handler returned. Not blocked: call again without waiting for the descriptor, the lane may hold bytes itself.
  virtual Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) = 0;
  // Why the lane ended. Says something once read() or write() has failed by an error that is not the handler's.
  virtual LaneEnd why_ended() const = 0;
  // Ends the lane: read() and write() are not called any more; the rest may be. True: the lane has ended; destroying it
  // waits for nothing, and then neither the wire nor a device touches memory of its callers. False: the lane is ending
  // (a queue pair takes milliseconds to die); ask again soon. A lane that ends when its descriptor is closed has
  // nothing to wait for.
  virtual bool end() { return true; }
  // Goes on after read() saw the peer's orderly end (half-close). That the connection broke is told by read(), write()
  // is then merely blocked; its own errors end the lane.
  virtual Result<Moved> write(LaneHandler& handler) = 0;
  // False while a frame that was taken waits to be written: a control frame would go behind it.
  virtual bool at_frame_boundary() const = 0;
  // Does not read `range` after return: what is unsent of payload there is copied into memory of the lane. False: the
  // kernel holds pages of it (zero-copy) and reads them until the lane is destroyed, which the caller must do before
  // they are used for anything else.
  [[nodiscard]] virtual bool withdraw_payload(std::span<const std::byte> range) = 0;
  // Does not write to `range` after return: the rest of a target there is thrown away as it arrives.
  virtual void withdraw_target(std::span<const std::byte> range) = 0;
  virtual LaneHealth health() = 0;
  virtual AckStatus ack_status() { return {}; }
  // What may be under way to us is bounded to about `bytes` from now on; kUnbounded: by nothing but the wire. True: the
  // wire itself sees to that, so the peer may hold more than that ready. False: the peer has to see to it, now at
  // least. To be called again after each read() that moved bytes.
  static constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
  virtual bool bound_arrivals(std::uint64_t /*bytes*/) { return false; }
  // What arrives is what was sent, without a check of ours: no network is between, or something else sees to it.
  virtual bool vouches_for_bytes() const { return false; }
  // The same from birth to end; written by the calls above.
  virtual const std::shared_ptr<LaneMetrics>& metrics() const = 0;
  LaneStats stats() const { return metrics()->stats(); }
  // No more frames will be written: half-close after what was taken. read() goes on.
  virtual Status finish_writing() = 0;
  // A descriptor that can be polled, an epoll descriptor, say; it stays the same. -1: none, the lane has to be looked
  // at by time.
  virtual int descriptor() const = 0;
  // The caller is about to wait on descriptor(), level-triggered, for what is answered: POLLIN, which tells of input
  // and of the peer's end, and, where `writing`, whatever tells of room for what write() left. 0: there is something to
  // read or write already. Holds until the descriptor was ready, or read() or write() moved something.
  virtual short prepare_to_wait(bool writing) { return short(POLLIN | (writing ? POLLOUT : 0)); }
};

}  // namespace railweave::wire
