// A session's place for one lane, used again for the next lane once the first has ended. Holds the lane's claim, which
// lets one thread at a time read and write the lane. Translates between the wire (bytes) and the protocol (frames).
//
// Threads: each call says. A lane's claim is taken before the session's mutex (docs/internals/threading.md).
#pragma once

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/mutex.h"
#include "engine/credit/lane_credit.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/session/arrival_flags.h"
#include "engine/session/lane_trace.h"
#include "engine/session/payload_check.h"
#include "engine/session/shared_protocol.h"
#include "protocol/session_protocol.h"
#include "wire/wire.h"

namespace railweave::engine {

// Options common to all lanes of a session.
struct LaneOptions {
  std::uint64_t serial = 0;    // the session's number; names the session in traces
  bool sends_checked = false;  // RAILWEAVE_CHECKSUM is on at this end
  bool encrypts = false;       // RAILWEAVE_ENCRYPT is on
};

// Why a lane ends; kept until the lane has ended.
struct LaneEnding {
  Status why;
  wire::LaneEnd end = wire::LaneEnd::closed;
  bool malformed = false;  // a frame that arrived contradicts the protocol
  bool too_slow = false;   // the other lanes carry the lane's segments
};

//   free ──start()──→ open ──begin_end()──→ ending ──has_ended(), close()──→ free
class RW_CAPABILITY("a lane's claim") LaneDriver final : private wire::LaneHandler {
 public:
  // `protocol` and `arrivals` are the session's, and outlive the driver.
  LaneDriver(SharedProtocol& protocol, ArrivalFlags& arrivals, const LaneOptions& options)
      : protocol_(protocol), arrivals_(arrivals), options_(options) {}

  // The id of the present lane, or of the last one. Any thread; only the claim's holder knows that the id stays.
  protocol::LaneId id() const { return id_.load(std::memory_order_relaxed); }
  // Grows with every lane of the place: two lanes in a row may have the same descriptor number. Any thread.
  std::uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // The pair of rails of the lane id(). On the thread that adds lanes, or with the claim held.
  const RailPair& rails() const { return rails_; }

  // --- the claim. Any thread. Clang does not follow claims: they are atomics.
  bool try_claim() RW_TRY_ACQUIRE(true) RW_NO_THREAD_SAFETY_ANALYSIS {
    return !is_claimed_.load(std::memory_order_relaxed) && !is_claimed_.exchange(true, std::memory_order_acquire);
  }
  void claim() RW_ACQUIRE();  // spins: a holder keeps the claim for one pass
  void release() RW_RELEASE() RW_NO_THREAD_SAFETY_ANALYSIS { is_claimed_.store(false, std::memory_order_seq_cst); }
  // Tells clang that this thread holds the claim, where clang cannot see the claiming. The assert checks only that some
  // thread holds the claim.
  void assert_claimed() const RW_ASSERT_CAPABILITY() { assert(is_claimed_.load(std::memory_order_relaxed)); }

  // Holds the claim for a scope; an exception that leaves the scope releases the claim, too.
  class RW_SCOPED_CAPABILITY Claim {
   public:
    explicit Claim(LaneDriver& lane) RW_ACQUIRE(lane) : lane_(lane) { lane.claim(); }
    // Adopts the claim that try_claim() took.
    Claim(LaneDriver& lane, std::adopt_lock_t) RW_REQUIRES(lane) : lane_(lane) {}
    ~Claim() RW_RELEASE() { lane_.release(); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    LaneDriver& lane_;
  };

  // What is wrong with a frame that arrived. malformed: the frame contradicts the protocol. damaged: a header or an
  // encrypted record was altered on its way. damaged_payload: its CRC is wrong. A damaged frame does not count as
  // consumed.
  enum class Fault { none, malformed, damaged, damaged_payload };

  // --- holder of the claim only
  struct Pass {
    bool moved = false;                         // bytes were read or written
    bool blocked = false;                       // a frame that the lane took is not wholly written yet
    Status status;                              // not ok: the lane is finished; call begin_end()
    Fault fault = Fault::none;                  // if the status is not ok: what was wrong with the arriving frame ...
    wire::LaneEnd end = wire::LaneEnd::closed;  // ... or, if nothing was, why the wire ended the lane
  };
  // Writes fresh posts, reads at most about `budget_bytes`, and writes waiting frames. `flush`: also lazy frames, which
  // otherwise wait for other frames to be written with. Errors: std::bad_alloc; an arrived frame may be half handled.
  Pass pass(std::size_t budget_bytes, bool flush) RW_REQUIRES(this);
  // Puts a lane into this place. `credit`: bounds what arrives; null: the peer's sending is not bounded. REQUIRES:
  // is_free().
  void start(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane,
             std::unique_ptr<LaneCredit> credit = {}) RW_REQUIRES(this);
  // Ends the lane: no thread reads or writes it from now on. Returns has_ended(). REQUIRES: is_open().
  bool begin_end(LaneEnding ending) RW_REQUIRES(this);
  // True: the wire has let go of the lane, and close() does not wait. False: ask again soon. REQUIRES: is_ending().
  bool has_ended() RW_REQUIRES(this) {
    assert(is_ending());
    return lane_->end();
  }
  // The argument of begin_end().
  const LaneEnding& ending() const RW_REQUIRES(this) { return ending_; }
  // Frees the place. Waits until the wire lets go of the lane: 0.1 s at most. After return neither the wire nor a
  // device reads or writes callers' memory for the lane.
  void close() noexcept RW_REQUIRES(this);
  // As wire::Lane::withdraw_payload(); true if there is no lane.
  bool withdraw_payload(std::span<const std::byte> range) RW_REQUIRES(this) {
    return !lane_ || lane_->withdraw_payload(range);
  }
  // As wire::Lane::withdraw_target(), but only while the arriving payload is for `stream`: the memory may belong to
  // another stream by now.
  void withdraw_target(protocol::StreamId stream, std::span<const std::byte> range) RW_REQUIRES(this);
  // Half-closes the lane if it is open.
  void finish_writing() RW_REQUIRES(this);
  const std::string& rail() const RW_REQUIRES(this) {  // name of our rail. REQUIRES: the place has or had a lane
    assert(metrics_);
    return metrics_->rail;
  }
  const std::string& remote_address() const RW_REQUIRES(this) {  // REQUIRES: as rail()
    assert(metrics_);
    return metrics_->remote_address;
  }
  // Call before waiting on the descriptor. Returns the poll events to wait for; 0: there is something to do already, or
  // the lane is not open.
  short prepare_to_wait() RW_REQUIRES(this) { return is_open() ? lane_->prepare_to_wait(blocked()) : short(0); }
  // As wire::Lane's. REQUIRES: is_open().
  wire::AckStatus ack_status() RW_REQUIRES(this) {
    assert(is_open());
    return lane_->ack_status();
  }
  wire::LaneHealth health() RW_REQUIRES(this) {
    assert(is_open());
    return lane_->health();
  }
  // health() in the form that the session takes. REQUIRES: is_open().
  protocol::SessionProtocol::LaneReport report() RW_REQUIRES(this);
  // Bytes that the peer's kernel has not acknowledged; 0 if the lane is not open.
  std::uint64_t outstanding_bytes() RW_REQUIRES(this) { return is_open() ? lane_->health().outstanding_bytes : 0; }

  // The last pass left a frame that the lane took and did not write wholly. Any thread.
  bool blocked() const { return blocked_.load(std::memory_order_relaxed); }
  // The place has a lane that is read and written. Any thread, as the next two; only the claim's holder knows that the
  // answer stays true.
  bool is_open() const { return state_.load(std::memory_order_relaxed) == State::open; }
  // The place has a lane that no thread reads or writes any more, and that the wire has not let go of.
  bool is_ending() const { return state_.load(std::memory_order_relaxed) == State::ending; }
  bool is_free() const { return state_.load(std::memory_order_relaxed) == State::free; }
  // Call pass() by this time even if nothing arrives: the peer may wait for credit. TimePoint::max(): no such time. Any
  // thread.
  TimePoint credit_due() const { return credit_due_.load(std::memory_order_relaxed); }
  // A descriptor to poll; -1: the lane is closed, or its wire has none. Any thread.
  int descriptor() const { return descriptor_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kFramesPerCall = 16;
  static constexpr Nanos kDrainPoll = std::chrono::microseconds(250);
  static constexpr std::size_t kDrainBytes = 16 * KiB;
  static constexpr int kIdlePassesMax = 64;  // in a row; then lazy frames no longer wait for other frames

  enum class State : std::uint8_t { free, open, ending };

  void close_metrics() noexcept RW_REQUIRES(this);
  void forget_credit() noexcept RW_REQUIRES(this);
  void poll_draining() RW_REQUIRES(this);
  void poll_credit(bool arrived) RW_REQUIRES(this);
  bool write(Pass& result) RW_REQUIRES(this);
  std::size_t take_frames(std::size_t most) RW_REQUIRES(this);
  Result<std::span<std::byte>> place_for(std::span<const std::byte, wire::kHeaderBytes> header,
                                         bool& read_while_landing) RW_REQUIRES(this);
  Status note_consumed() RW_REQUIRES(this);
  Status damage(std::span<const std::byte, wire::kHeaderBytes> header) const RW_REQUIRES(this);
  Status judged(Status status) RW_REQUIRES(this);
  // Either end checks its payload, or the session encrypts. An altered frame then counts as damage on the network, not
  // as malformed.
  bool is_checked() const { return options_.sends_checked || options_.encrypts || arrivals_.does_peer_check(); }
  bool is_damaged() const RW_REQUIRES(this) { return fault_ == Fault::damaged || fault_ == Fault::damaged_payload; }

  std::size_t next_frames(std::span<wire::OutFrame> frames) override;
  void written(std::size_t n) override;
  void released(std::size_t n) override;
  Result<wire::Target> header(std::span<const std::byte, wire::kHeaderBytes> header) override;
  Status consumed(std::span<const std::byte, wire::kHeaderBytes> header) override;

  SharedProtocol& protocol_;
  ArrivalFlags& arrivals_;
  const LaneOptions options_;
  std::atomic<protocol::LaneId> id_{0};
  std::atomic<std::uint32_t> generation_{0};
  RailPair rails_;
  std::unique_ptr<wire::Lane> lane_ RW_GUARDED_BY(this);
  std::unique_ptr<LaneCredit> credit_ RW_GUARDED_BY(this);
  std::atomic<TimePoint> credit_due_{TimePoint::max()};
  std::atomic<State> state_{State::free};
  std::atomic<int> descriptor_{-1};
  std::atomic<bool> is_claimed_{false};
  // buffer of next_frames(); a member, so that the array is not cleared with each call
  std::array<protocol::OutgoingFrame, kFramesPerCall> next_ RW_GUARDED_BY(this);
  LaneTrace trace_{protocol_.clock(), 0, 0};
  bool drains_ RW_GUARDED_BY(this) = false;          // a payload of kDrainBytes or more is under way
  TimePoint drain_polled_at_ RW_GUARDED_BY(this){};  // time of the last report by poll_draining()
  Fault fault_ RW_GUARDED_BY(this) = Fault::none;
  bool checks_ RW_GUARDED_BY(this) = false;                         // payload sent by this lane has a CRC
  PayloadCheck check_ RW_GUARDED_BY(this);                          // of arriving payload
  std::shared_ptr<wire::LaneMetrics> metrics_ RW_GUARDED_BY(this);  // of the present lane, or of the last one
  LaneEnding ending_ RW_GUARDED_BY(this);                           // of the same lane
  // header() has called on_consumed() already: the frame has no payload
  bool consumed_ RW_GUARDED_BY(this) = false;
  Status consumed_status_ RW_GUARDED_BY(this);  // result of that call
  bool flush_ RW_GUARDED_BY(this) = false;      // of this pass
  int idle_passes_ RW_GUARDED_BY(this) = 0;     // in a row
  std::atomic<bool> blocked_{false};
};

}  // namespace railweave::engine
