// SessionProtocol: everything between two instances with one traffic class, as a state machine without I/O (decisions
// D1, D2, D4, D6). The session's streams share its lanes. Inputs are posts, headers, lane reports and time. Outputs are
// frames, places for payload, completions and events. The engine calls it under a mutex; tests and the simulator call
// it directly.
//
// Threads: one at a time. No call blocks or does I/O. Posting and moving data allocate nothing once streams and lanes
// exist.
// Errors: at Scope::lane the caller gives the lane up (lose_lane); at Scope::session it calls fail().
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/completion.h"
#include "protocol/credit_window.h"
#include "protocol/fifo.h"
#include "protocol/frame.h"
#include "protocol/frame_fields.h"
#include "protocol/lane_ledger.h"
#include "protocol/lane_probe.h"
#include "protocol/late_frames.h"
#include "protocol/queueing_bound.h"
#include "protocol/rail_updates.h"
#include "protocol/rate_estimator.h"
#include "protocol/recv_stream.h"
#include "protocol/round_robin.h"
#include "protocol/send_stream.h"
#include "protocol/striper.h"

namespace railweave::protocol {

// Lanes of a session at once: live ones, and lost ones until both ends are done with them. Each has a ledger of 64 KiB.
// As many more may be known only by the peer's FENCEs.
inline constexpr std::size_t kLanesKnownMax = 256;

struct SessionOptions {
  std::size_t eager_limit_bytes = 64 * KiB;  // longest eager message that either end may send
};

// A frame for a lane to write. Memory: `payload` stays valid until the lane released the frame.
struct OutgoingFrame {
  FrameHeader header;
  std::span<const std::byte> payload;
};

struct Event {
  enum class Kind {
    opened,               // the peer answered our stream; `status`: whether the stream may be used
    incoming,             // the peer opens `stream` towards `listener`: answer with accept_stream() or refuse_stream()
    lane_failed_by_peer,  // the peer gave `lane` up: close the lane, then call lose_lane()
    // all that `lane` carried is consumed, and the peer retires the lane: do the same, if is_retiring() still holds
    lane_retired,
    goodbye,          // the peer leaves; the end of its lanes is no error
    rails_announced,  // the peer's rails changed: call drain_rail_updates()
    // a segment went by `lane` although the receiver's credit let none go; only the first time of each lane
    overridden,
  } kind;
  StreamId stream = 0;
  LaneId lane = 0;
  std::uint64_t listener = 0;
  Status status;
  bool too_slow = false;            // lane_failed_by_peer: the lane was too slow
  CreditWindow::Override how = {};  // overridden: the credit, and how long data had waited
};

class SessionProtocol {
 public:
  explicit SessionProtocol(const SessionOptions& options);

  // --- streams. References stay valid until close().
  SendStream& open_stream(Priority priority, std::uint64_t listener, std::uint64_t local_rail_mask);
  // `slots`: reserves room for messages that come before their receives (see RecvStream::accept).
  RecvStream& accept_stream(StreamId id, std::uint64_t local_rail_mask, bool slots = true);
  void refuse_stream(StreamId id, std::string reason);
  void post(SendStream& stream, void* request, const std::byte* data, std::uint64_t size, std::uint64_t tag = 0,
            std::uint64_t order = 0);
  void expedite(SendStream& stream, std::uint64_t order);
  void post(RecvStream& stream, void* request, std::byte* data, std::uint64_t capacity,
            bool read_while_landing = false);
  // Unfinished requests end as cancelled. The reference is invalid afterwards.
  void close(SendStream& stream);
  void close(RecvStream& stream);
  // Fails the stream as cancelled if an unfinished request uses memory in `range`. True: it did.
  bool withdraw(SendStream& stream, std::span<const std::byte> range);
  bool withdraw(RecvStream& stream, std::span<const std::byte> range);
  // Fails the stream as cancelled, for a request in such memory that is not posted here yet.
  void cancel(SendStream& stream);
  void cancel(RecvStream& stream);

  // --- lanes
  // Adds a lane. Its number is used once in a session. `local_rail`, `remote_rail`: indices below 64 into each side's
  // list of rails. `doubtful`: the path failed, or lost packets, before the lane stood. `first`: the credit until the
  // receiver's first statement.
  // A doubtful lane, and one that comes after a loss, gets padding first. While a proven lane is there, the new one
  // gets no data until the padding is acknowledged.
  // A lane that the peer gave up before this call fails at once (lane_failed_by_peer). Finished lanes are forgotten
  // here, so that lanes may come and go while there are numbers.
  void add_lane(LaneId lane, int local_rail, int remote_rail, bool doubtful = false, const Credit& first = {});
  // The lane is closed for good: it is neither read nor written any more. Frames without confirmation wait for the
  // peer's FENCE. `too_slow`: the reason; the peer, which may be the dialler, gets it with our FENCE.
  void lose_lane(LaneId lane, bool too_slow = false);
  int live_lanes() const;
  // Retires `lane`, or lets it serve again, and tells the peer. A retiring lane takes no new frames while another lane
  // is there. The peer gives the lane up once all frames of both ends on it are consumed. True: the state changed. For
  // the dialling side only.
  bool retire(LaneId lane, bool retires);
  // Either end retired the lane, and another lane serves instead.
  bool is_retiring(LaneId lane) const;
  // Forgets lanes that are lost and whose FENCEs have arrived at both ends; add_lane() does so, too.
  void forget_lanes();
  // Added, or named by a FENCE of the peer, and not forgotten.
  bool knows_lane(LaneId lane) const { return find(lane) != nullptr; }
  bool had_lane(LaneId lane) const { return knows_lane(lane) || was_forgotten(lane); }
  std::size_t known_lanes() const { return lanes_.size(); }
  // For another lane (kLanesKnownMax).
  bool has_room_for_lane() const;

  struct LaneReport {
    std::uint64_t outstanding_bytes = 0;   // bytes in the kernel or on the network, unacknowledged
    std::uint64_t acknowledged_bytes = 0;  // bytes, ever
    Nanos min_rtt{0};
    Nanos smoothed_rtt{0};  // both round trips: 0 if not known
  };
  void report(LaneId lane, TimePoint now, const LaneReport& report);
  // Enough bytes are at stake for next_frames() to need a new report, and the last one is old.
  bool wants_report(LaneId lane, TimePoint now) const;

  // --- control frames never wait for one lane (decision D8): session_protocol_late.cc
  struct ReportedLane {
    LaneId lane = 0;
    LaneReport report;
  };
  static constexpr Nanos kLatePoll = std::chrono::milliseconds(20);
  // Two lanes or more are live, and one of them is late or holds statements not known to be acknowledged. The caller
  // then calls retransmit_late_control() every kLatePoll.
  bool watches_control() const;
  // Retransmits late statements by another lane, each once for each lane that took it, unless all lanes are late. A
  // statement is late if its lane's kernel did not get it acknowledged in time (late_frames.h). `lanes`: all open ones,
  // with reports taken between `before` and `now`. A late lane gets no control while another one is not late. Returns
  // the number of retransmitted frames; next_frames() has them.
  std::size_t retransmit_late_control(TimePoint before, TimePoint now, std::span<const ReportedLane> lanes);
  // Statements that lanes took, ever; and those retransmitted because they were late.
  std::uint64_t control_frames() const { return control_frames_; }
  std::uint64_t control_frames_retransmitted() const { return control_frames_retransmitted_; }

  // --- credit windows (docs/internals/credit_windows.md): session_protocol_windows.cc
  // The credit that the peer has on `lane`, until the next call. No effect if the lane is not live.
  void announce_window(LaneId lane, const Credit& credit);
  struct Arrivals {
    std::uint64_t position = 0;     // bytes consumed on the lane, headers included
    std::uint64_t segments = 0;     // segments consumed on the lane, ever
    std::uint32_t waiting_kib = 0;  // KiB waiting in the peer's session behind the lane's last segment
  };
  Arrivals arrivals(LaneId lane) const;
  // The credit in force for this end's sending by the lane; no limit if the lane is not known.
  Credit send_credit(LaneId lane) const;
  // Total time for which data waited here for credit on `lane`.
  Nanos without_credit(LaneId lane) const;

  // Sends a frame by the lane soon, if only a KEEP, so that the peer's kernel has something to acknowledge. No effect
  // if the ledger is full.
  void send_any_frame(LaneId lane);
  // Sends a heartbeat probe by the lane soon: the peer's session answers it, not only the peer's kernel. No effect if
  // the ledger is full.
  void send_heartbeat_probe(LaneId lane);
  // Frames of the peer that were consumed here, ever, on all lanes. The count grows while the peer's session lives and
  // is probed.
  std::uint64_t consumed_frames() const { return consumed_frames_; }
  // Segments, ever, on all lanes: those of the peer that arrived, and ours that the peer has.
  std::uint64_t exchanged_segments() const { return exchanged_segments_; }
  // True: a frame is partly written and the kernel takes no more, so control goes by other lanes. False: the kernel
  // takes more again.
  void set_blocked(LaneId lane, bool blocked);
  Rate rate_of(LaneId lane) const;
  // The lane holds segments, and not padding alone, behind the first `acknowledged_bytes` bytes that it took.
  bool holds_data(LaneId lane, std::uint64_t acknowledged_bytes) const;

  // Fills in the frames that this lane writes next, and returns their number. `flush`: also lazy statements that
  // otherwise wait for another frame. Returns 0 once the session failed: the peer must see lanes end, not streams
  // close. REQUIRES: `frames` is not empty.
  std::size_t next_frames(LaneId lane, std::span<OutgoingFrame> frames, bool flush);
  // The kernel has the next `frames` frames of the lane; on_released(): nothing refers to their bytes any more.
  // REQUIRES, for these and the next two calls: knows_lane(lane).
  void on_written(LaneId lane, std::size_t frames);
  void on_released(LaneId lane, std::size_t frames);
  // Returns where the payload goes; data() == nullptr: discard it. on_consumed(): the payload is in place.
  Result<std::span<std::byte>> on_header(LaneId lane, ConstHeaderBytes bytes);
  Status on_consumed(LaneId lane);
  // The payload that is arriving on this lane belongs to `stream`, which this end receives.
  bool lands(LaneId lane, StreamId stream) const;
  // The caller reads this payload while it lands: the lane must write it in ascending order.
  bool is_read_while_landing(LaneId lane) const;
  // Every lane is blocked: receives end without waiting until the kernel has their acks.
  void publish_without_acks();

  // True: next_frames() of some lane may have frames of this kind, new ones or ones held back.
  bool has_data() const { return !turns_.empty(); }
  bool has_control() const {
    return !send_control_.empty() || !recv_control_.empty() || session_control_ || owing_lanes_ > 0 ||
           any_owes_padding();
  }
  bool has_lazy() const { return !lazy_.empty(); }

  // --- rails that are new or changed since the session began (rail_updates.h)
  void announce_rail(RailUpdates::Statement news);
  // The peer's statements since the last call.
  std::vector<RailUpdates::Statement> drain_rail_updates() { return rail_updates_.take_received(); }

  // --- ending
  void say_goodbye();
  // The GOODBYE is written, and no lost lane waits for a FENCE. Such a FENCE could require that the GOODBYE or an
  // earlier frame is retransmitted.
  bool goodbye_written() const;
  bool peer_said_goodbye() const { return peer_goodbye_; }
  // Ends every request with `why`, except receives of messages that are wholly here. The first error sticks. May be
  // repeated after std::bad_alloc.
  void fail(const Status& why);
  const Status& error() const { return error_; }

  // Drain both after every call.
  Completions& completions() { return completions_; }
  std::vector<Event>& events() { return events_; }

  std::size_t send_streams() const { return send_streams_.size(); }
  std::size_t recv_streams() const { return recv_streams_.size(); }
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  // Counts the requests posted and not ended.
  void count_unfinished(std::uint64_t& sends, std::uint64_t& receives) const;

 private:
  struct Lane {
    LaneId id = 0;
    std::uint64_t local_bit = 0, remote_bit = 0;
    enum class State { live, lost, fenced } state = State::live;
    bool blocked = false;
    bool fence_pending = false;  // our FENCE for the lane must go out by another lane
    bool fence_taken = false;    // the peer has our FENCE
    bool closed = false;         // lose_lane() was called
    bool too_slow = false;       // the reason for giving the lane up; the FENCE has it
    bool owes_any_frame = false, owes_heartbeat_probe = false;
    bool fenced_early = false;       // the peer gave the lane up before add_lane()
    bool retires = false;            // by the last statement of either end
    bool retire_pending = false;     // our RETIRE must go out by another lane
    bool retire_answered = false;    // the last RETIRE came from the peer ...
    bool retired_announced = false;  // ... and lane_retired was announced
    std::uint64_t retire_edition = 0;
    std::uint64_t retire_frames = 0;  // frames that the peer gave the lane before its RETIRE
    bool peer_fenced = false;
    // false: doubtful, or added after a loss, and LaneProbe::kBytes are not acknowledged yet
    bool proven = true;
    std::uint64_t peer_fence_count = 0;
    std::uint64_t taken_bytes = 0;  // bytes, ever
    std::uint64_t data_end = 0;     // taken_bytes behind the last segment
    LaneView view;
    TimePoint reported_at{};
    CreditWindow window;  // the peer's credit for this end's sending
    Arrivals arrivals;
    Credit announced_window;  // this end's credit for the peer's sending
    std::uint64_t window_edition = 0;
    bool window_pending = false;  // announced_window must be sent
    RateEstimator estimator;
    LaneProbe probe;
    QueueingBound queueing_bound;
    LateFrames late;
    LaneLedger ledger;
    FrameHeader incoming;           // the header of the payload that is arriving
    RecvStream* landing = nullptr;  // the stream of this payload
    std::array<std::byte, kControlPayloadBytesMax> control_payload;
  };

  Lane* find(LaneId id);
  const Lane* find(LaneId id) const;
  // REQUIRES: knows_lane(id).
  Lane& known(LaneId id);
  bool is_held_back(const Lane& lane) const;
  bool owes_padding(const Lane& lane) const;
  bool any_owes_padding() const;
  // The lane takes new frames.
  bool serves(const Lane& lane) const;
  bool carries_control(const Lane& lane) const;
  bool may_use(const SendStream& stream, const Lane& lane) const;
  OthersView others(const Lane& lane, const SendStream& stream) const;

  // session_protocol_outbound.cc
  std::size_t take_control(Lane& lane, std::span<OutgoingFrame> frames);
  std::size_t take_lazy(Lane& lane, std::span<OutgoingFrame> frames);
  std::size_t take_data(Lane& lane, std::span<OutgoingFrame> frames);
  std::size_t take_padding(Lane& lane, std::span<OutgoingFrame> frames, std::uint64_t bytes);
  bool next_session_control(OutgoingFrame& frame);
  void take(Lane& lane, OutgoingFrame& frame);

  // session_protocol_inbound.cc
  Status on_control(Lane& lane, const FrameHeader& header, std::string_view payload);
  Status on_sender_control(const FrameHeader& header, std::string_view payload);
  Status on_receiver_control(const FrameHeader& header, std::string_view payload);
  Status on_open(const FrameHeader& header);
  Status on_fence(const FrameHeader& header);
  Status on_fence_of_unknown(const FenceFrame& fence);

  // session_protocol_retire.cc
  bool next_retire(FrameHeader& header);
  void repeat_retire(const FrameHeader& lost);
  void on_retire(const FrameHeader& header);
  void note_retired(Lane& lane);

  // session_protocol_windows.cc
  bool next_window(FrameHeader& header);
  void repeat_window(const FrameHeader& lost);
  void on_window(const FrameHeader& header);
  void note_arrival(Lane& lane, const FrameHeader& consumed);

  // session_protocol_lanes.cc
  bool was_forgotten(LaneId id) const { return id < forgotten_.size() && forgotten_[id]; }
  void requeue_lost(Lane& lane);
  void prove(Lane& lane, std::uint64_t acknowledged_bytes);
  void repeat(const LaneLedger::Lost& lost);
  void forget_finished(Lane& lane);
  void release(const FrameHeader& frame);
  void unname(const FrameHeader& frame);

  // session_protocol_late.cc
  void retransmit(const FrameHeader& frame);

  // Call after any change of a stream: updates the lists it belongs to, and forgets the stream when it is gone.
  void note(SendStream& stream);
  void note(RecvStream& stream);
  SendStream* find_send(StreamId id);
  RecvStream* find_recv(StreamId id);
  bool names_receiver(const FrameHeader& frame) const;

  const SessionOptions options_;
  Status error_;
  Completions completions_;
  std::vector<Event> events_;

  std::unordered_map<StreamId, std::unique_ptr<SendStream>> send_streams_;
  int urgent_send_streams_ = 0;  // number of them among send_streams_
  std::unordered_map<StreamId, std::unique_ptr<RecvStream>> recv_streams_;
  StreamId next_send_id_ = 0;
  StreamId next_recv_id_ = 0;   // lower ids were opened by the peer, and perhaps forgotten since
  std::size_t unaccepted_ = 0;  // number of them among recv_streams_

  RoundRobin turns_;
  Fifo<SendStream, &SendStream::control_hook> send_control_;
  Fifo<RecvStream, &RecvStream::control_hook> recv_control_;
  Fifo<RecvStream, &RecvStream::lazy_hook> lazy_;  // streams with a statement that may ride along
  std::uint64_t waiting_bytes_ = 0;                // bytes sendable on all streams

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<bool> forgotten_;  // by id: lanes that are forgotten, whose FENCEs may come once more
  int owing_lanes_ = 0;          // lanes with owes_any_frame
  std::uint64_t consumed_frames_ = 0, exchanged_segments_ = 0;
  std::uint64_t control_frames_ = 0, control_frames_retransmitted_ = 0;
  bool lost_lane_ = false;        // a lane was lost: lanes added later must be proven
  bool must_prove_ = false;       // an unproven lane was added, ever; false: any_owes_padding() checks no lane
  bool session_control_ = false;  // a FENCE, RETIRE, WINDOW, RAILS or GOODBYE waits
  RailUpdates rail_updates_;
  bool goodbye_pending_ = false, goodbye_written_ = false, peer_goodbye_ = false;
};

}  // namespace railweave::protocol
