// A wire moves frames between two instances over lanes. It knows headers as opaque bytes and payload as spans; what they
// mean is the session's business (plugin/protocol), reached through LaneHandler.
//
// Threads: whoever holds the lane's claim (engine) or the simulator calls read(), write(), withdraw_*(), health() and hearing(),
// one at a time. Handler calls come from inside read() and write(), on that thread, never re-entering the lane.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "railweave/stats.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::wire {

inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kTokenBytesMax = 64;

// How payload finds its place. ask: the header arrives first and the session answers where. push: the sender writes to
// a place named by a token from the receiver's GRANT; the header arrives after the bytes. pull: the header arrives with a
// token made by the sender's lane, the session answers where, the receiving lane fetches the bytes.
enum class Placement { ask, push, pull };

struct OutFrame {
  std::array<std::byte, kHeaderBytes> header;
  std::span<const std::byte> payload;       // referenced, not copied, until released(); empty for control frames
  std::array<std::byte, kTokenBytesMax> token{};  // push lanes only: the peer's token for the region ...
  std::size_t token_offset = 0;             // ... and where in it the payload goes
};

// The answer to a header: where the frame's payload goes.
struct Target {
  std::span<std::byte> where;               // exactly the payload's length; data == nullptr: read and throw away
  bool watched = false;                     // somebody reads it meanwhile, and relies on ascending order
};

struct LaneHealth {
  std::uint64_t outstanding_bytes = 0;      // taken by us, not acknowledged by the peer's side (header bytes included)
  std::uint64_t acknowledged_bytes = 0;     // ever
  Nanos min_rtt{0};                         // 0: not known yet
  Nanos smoothed_rtt{0};                    // of late, held-back acknowledgements included; 0: not known
};

// What the peer's kernel says, if only that it is there. The default: it is always there.
struct Hearing {
  TimePoint heard_at = TimePoint::max();    // when anything came last
  std::optional<TimePoint> late_since;      // since when it owes an answer, if that is for longer than answers take here
  std::optional<TimePoint> silent_since;    // likewise, if for so long that the lane counts as silent
  Nanos usual{0};                           // an answer takes no longer here, unless it is late
  bool owes = false;                        // an answer
  bool owes_keepalive = false;              // only to a keepalive, which the kernel sends again late: a frame would be sent again sooner
  bool asks_later = false;                  // its window is shut: what we send stays here until the kernel asks again by itself
};

class LaneHandler {
 public:
  // Fills up to `frames.size()` frames to write now; returns how many. The lane takes each one returned.
  virtual std::size_t next_frames(std::span<OutFrame> frames) = 0;
  // The `n` oldest frames taken and not yet written are wholly handed over (kernel or network).
  virtual void written(std::size_t n) = 0;
  // The `n` oldest frames taken and not yet released are no longer referenced by the lane or the kernel.
  virtual void released(std::size_t n) = 0;
  // ask, pull: a header arrived. An error gives the lane up: nothing after it is read.
  virtual Result<Target> header(std::span<const std::byte, kHeaderBytes> header) = 0;
  // The frame whose header came last is wholly in place (push: header and payload at once, Target unused).
  virtual Status consumed(std::span<const std::byte, kHeaderBytes> header) = 0;

 protected:
  ~LaneHandler() = default;
};

struct Moved {
  std::size_t bytes = 0;      // headers and payload
  bool blocked = false;       // the kernel (or link) would take or give no more now
};

class Lane {
 public:
  // Closes at once; the peer sees the end of the lane. Where the kernel holds pages (zero-copy) it waits for them, 0.1 s at most.
  virtual ~Lane() = default;

  virtual Placement placement() const = 0;
  // Moves at most about `budget_bytes`; what is read into a watched target
  // becomes visible in ascending order. Errors end reading for good:
  // Code::remote (the peer's end closed or reset it; only after everything it had sent), Code::system, or what the
  // handler returned. Not blocked: call again without waiting for the descriptor, the lane may hold bytes itself.
  virtual Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) = 0;
  // Goes on after read() saw the peer's orderly end (half-close). That the connection broke is told by read(), write()
  // is then merely blocked; its own errors end the lane.
  virtual Result<Moved> write(LaneHandler& handler) = 0;
  // False while a frame that was taken waits to be written: a control frame would go behind it.
  virtual bool at_frame_boundary() const = 0;
  // Does not read `range` after return: what is unsent of payload there is copied into memory of the lane. False: the kernel holds
  // pages of it (zero-copy) and reads them until the lane is destroyed, which the caller must do before they are used for anything else.
  [[nodiscard]] virtual bool withdraw_payload(std::span<const std::byte> range) = 0;
  // Does not write to `range` after return: the rest of a target there is thrown away as it arrives.
  virtual void withdraw_target(std::span<const std::byte> range) = 0;
  virtual LaneHealth health() = 0;
  virtual Hearing hearing() { return {}; }
  // What arrives is what was sent, without a check of ours: no network is between, or something else sees to it.
  virtual bool vouches_for_bytes() const { return false; }
  virtual LaneStats stats() const = 0;
  // push: writes a token (<= kTokenBytesMax) that lets the peer write into `region`; 0 when not supported.
  virtual std::size_t make_token(std::span<std::byte> region, std::span<std::byte, kTokenBytesMax> token) = 0;
  // No more frames will be written: half-close after what was taken. read() goes on.
  virtual Status finish_writing() = 0;
  // Pollable descriptor, -1 if none.
  virtual int descriptor() const = 0;
  // The caller is about to wait on descriptor(), level-triggered, for what is answered: POLLIN, which tells of input and of
  // the peer's end, and, where `writing`, whatever tells of room for what write() left. 0: there is something to read or
  // write already. Holds until the descriptor was ready, or read() or write() moved something.
  virtual short prepare_to_wait(bool writing) { return short(POLLIN | (writing ? POLLOUT : 0)); }
};

}  // namespace railweave::wire
