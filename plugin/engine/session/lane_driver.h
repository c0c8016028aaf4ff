// A session's place for one lane, and for the next one when that is gone: the claim that lets one thread at a time read
// and write it, and the translation between the wire (bytes) and the protocol (frames). docs/internals/threading.md: a
// lane's claim is taken before the session's mutex.
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

// What all lanes of a session have in common.
struct LaneOptions {
  std::uint64_t serial = 0;    // of the session; names it in traces
  bool sends_checked = false;  // RAILWEAVE_CHECKSUM is on here
  bool encrypts = false;       // RAILWEAVE_ENCRYPT is
};

// Why a lane ends, for when it has ended.
struct LaneEnding {
  Status why;
  wire::LaneEnd end = wire::LaneEnd::closed;
  bool malformed = false;  // what came there contradicts the protocol
  bool too_slow = false;   // the others carry what it held
};

//   free ──start()──→ open ──begin_end()──→ ending ──has_ended(), close()──→ free
class RW_CAPABILITY("a lane's claim") LaneDriver final : private wire::LaneHandler {
 public:
  // `protocol` and `arrivals` are the session's, and outlive it.
  LaneDriver(SharedProtocol& protocol, ArrivalFlags& arrivals, const LaneOptions& options)
      : protocol_(protocol), arrivals_(arrivals), options_(options) {}

  // The id of the lane that is here, or was here last. Any thread, but only the claim's holder knows that it stays.
  protocol::LaneId id() const { return id_.load(std::memory_order_relaxed); }
  // Grows with every lane here: its descriptor's number may be that of the one before. Any thread.
  std::uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // The pair of rails of the same lane. On the thread that adds lanes.
  const RailPair& rails() const { return rails_; }

  // --- the claim. Any thread.
  bool try_claim() RW_TRY_ACQUIRE(true) RW_NO_THREAD_SAFETY_ANALYSIS {
    return !is_claimed_.load(std::memory_order_relaxed) && !is_claimed_.exchange(true, std::memory_order_acquire);
  }
  void claim() RW_ACQUIRE();  // spins: holders keep it for one pass
  void release() RW_RELEASE() RW_NO_THREAD_SAFETY_ANALYSIS { is_claimed_.store(false, std::memory_order_seq_cst); }
  // Claims nothing: tells clang that this thread holds the claim, where clang cannot see who took it. Some thread must.
  void assert_claimed() const RW_ASSERT_CAPABILITY() { assert(is_claimed_.load(std::memory_order_relaxed)); }

  // The claim, until this goes, whatever is thrown meanwhile.
  class RW_SCOPED_CAPABILITY Claim {
   public:
    explicit Claim(LaneDriver& lane) RW_ACQUIRE(lane) : lane_(lane) { lane.claim(); }
    // After try_claim().
    Claim(LaneDriver& lane, std::adopt_lock_t) RW_REQUIRES(lane) : lane_(lane) {}
    ~Claim() RW_RELEASE() { lane_.release(); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    LaneDriver& lane_;
  };

  // What is wrong with what arrived: it contradicts the protocol, or was altered on its way, and is not counted as
  // consumed.
  enum class Fault { none, malformed, damaged, damaged_payload };

  // --- holder of the claim only
  struct Pass {
    bool moved = false;                         // bytes went in or out
    bool blocked = false;                       // frames that the lane took are not wholly written yet
    Status status;                              // not ok: the lane is finished; begin_end()
    Fault fault = Fault::none;                  // why it is, where what arrived is to blame ...
    wire::LaneEnd end = wire::LaneEnd::closed;  // ... and else
  };
  // Reads at most about `budget_bytes`, writes what there is. `flush`: also what would rather wait for company. Errors:
  // std::bad_alloc, and what came may be half handled.
  Pass pass(std::size_t budget_bytes, bool flush) RW_REQUIRES(this);
  // `credit`: of what arrives there; null: its sender is not bounded. REQUIRES: is_free().
  void start(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane,
             std::unique_ptr<LaneCredit> credit = {}) RW_REQUIRES(this);
  // Nobody reads or writes the lane from now on. True: it has ended, as has_ended() says. REQUIRES: is_open().
  bool begin_end(LaneEnding ending) RW_REQUIRES(this);
  // The wire let go of the lane: close() waits for nothing. False: ask again soon. REQUIRES: is_ending().
  bool has_ended() RW_REQUIRES(this) {
    assert(is_ending());
    return lane_->end();
  }
  // As begin_end() was told.
  const LaneEnding& ending() const RW_REQUIRES(this) { return ending_; }
  // Frees the place. Waits until the wire lets go of the lane: 0.1 s at most. After that nothing reads or writes memory
  // of callers for it.
  void close() noexcept RW_REQUIRES(this);
  // As wire::Lane's; a target only while it is one of `stream`'s: the memory may be another's by now.
  bool withdraw_payload(std::span<const std::byte> range) RW_REQUIRES(this) {
    return !lane_ || lane_->withdraw_payload(range);
  }
  void withdraw_target(protocol::StreamId stream, std::span<const std::byte> range) RW_REQUIRES(this);
  void finish_writing() RW_REQUIRES(this);
  const std::string& rail() const RW_REQUIRES(this) {  // of ours. REQUIRES: a lane is here, or was
    assert(metrics_);
    return metrics_->rail;
  }
  const std::string& remote_address() const RW_REQUIRES(this) {  // likewise
    assert(metrics_);
    return metrics_->remote_address;
  }
  // Before the descriptor is waited on: the events to wait for. 0: there is something to do already.
  short prepare_to_wait() RW_REQUIRES(this) { return is_open() ? lane_->prepare_to_wait(blocked()) : short(0); }
  // What the wire says of the lane. REQUIRES: is_open()
  wire::AckStatus ack_status() RW_REQUIRES(this) {
    assert(is_open());
    return lane_->ack_status();
  }
  wire::LaneHealth health() RW_REQUIRES(this) {
    assert(is_open());
    return lane_->health();
  }
  // the same for the session. REQUIRES: is_open()
  protocol::SessionProtocol::LaneReport report() RW_REQUIRES(this);
  std::uint64_t outstanding_bytes() RW_REQUIRES(this) { return is_open() ? lane_->health().outstanding_bytes : 0; }

  // The last pass left frames that the lane took and did not write wholly. Any thread.
  bool blocked() const { return blocked_.load(std::memory_order_relaxed); }
  // A lane is here, and is read and written. Any thread, as for the next two, but only the claim's holder knows that it
  // stays so.
  bool is_open() const { return state_.load(std::memory_order_relaxed) == State::open; }
  // A lane is here that nobody reads or writes any more, and the wire has not let go of it.
  bool is_ending() const { return state_.load(std::memory_order_relaxed) == State::ending; }
  bool is_free() const { return state_.load(std::memory_order_relaxed) == State::free; }
  // pass() should be called by then though nothing arrives, for the peer may wait to be told what it may send. Any
  // thread.
  TimePoint credit_due() const { return credit_due_.load(std::memory_order_relaxed); }
  // Pollable descriptor; -1 once closed, and where the wire has none. Any thread.
  int descriptor() const { return descriptor_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kFramesPerCall = 16;
  static constexpr Nanos kDrainPoll = std::chrono::microseconds(250);
  static constexpr std::size_t kDrainBytes = 16 * KiB;
  static constexpr int kIdlePassesMax = 64;  // then nothing came that lazy frames could have ridden on

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
  // Payload has CRCs, one way or both, or is encrypted: what arrives altered is the network's fault, and no lie.
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
  // next_frames(): here, so that it is not cleared each time
  std::array<protocol::OutgoingFrame, kFramesPerCall> next_ RW_GUARDED_BY(this);
  LaneTrace trace_{protocol_.clock(), 0, 0};
  bool drains_ RW_GUARDED_BY(this) = false;    // payload worth watching is on its way
  TimePoint looked_at_ RW_GUARDED_BY(this){};  // when it was looked at last
  Fault fault_ RW_GUARDED_BY(this) = Fault::none;
  bool checks_ RW_GUARDED_BY(this) = false;                         // what we send here has CRCs of its payload
  PayloadCheck check_ RW_GUARDED_BY(this);                          // of what arrives
  std::shared_ptr<wire::LaneMetrics> metrics_ RW_GUARDED_BY(this);  // of the lane that is or was here last
  LaneEnding ending_ RW_GUARDED_BY(this);                           // of it
  // header() saw to consumed() as well: there was no payload to wait for
  bool consumed_ RW_GUARDED_BY(this) = false;
  Status consumed_status_ RW_GUARDED_BY(this);
  bool flush_ RW_GUARDED_BY(this) = false;   // of this pass
  int idle_passes_ RW_GUARDED_BY(this) = 0;  // in a row
  std::atomic<bool> blocked_{false};
};

}  // namespace railweave::engine
