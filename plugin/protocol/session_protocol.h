// Everything between two instances with one traffic class, as a state machine without I/O (decisions D1, D2, D4, D6):
// streams share lanes; posts, headers, lane reports and time come in; frames, places for bytes, completions and events
// come out. The engine drives it under its mutex, tests and the simulator drive it directly.
//
// One thread at a time. No call blocks or does I/O; posting and moving data allocate nothing once streams and lanes
// exist.
// Errors of Scope::lane mean: give that lane up (lose_lane); of Scope::session: fail().
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

// Lanes of a session at once: live, and lost while the two ends are not done with them. Each has a ledger, 64 KiB. So
// many again may be known by the peer's FENCEs alone.
inline constexpr std::size_t kLanesKnownMax = 256;

struct SessionOptions {
  std::size_t eager_limit_bytes = 64 * KiB;
};

// A frame for a lane to write. `payload` stays valid until the lane released the frame.
struct OutgoingFrame {
  FrameHeader header;
  std::span<const std::byte> payload;
};

struct Event {
  enum class Kind {
    opened,               // our stream was answered; `status` tells whether it may be used
    incoming,             // the peer opens `stream` towards `listener`: answer with accept_stream() or refuse_stream()
    lane_failed_by_peer,  // the peer gave `lane` up: close it, then lose_lane()
    // all that `lane` carried is consumed, and the peer wants it ended: likewise, if is_retiring() still
    lane_retired,
    goodbye,          // the peer leaves; the end of its lanes is no error
    rails_announced,  // the peer's rails changed: drain_rail_updates()
    // the receiver let nothing go by `lane`, so a segment went against its word. The first time of each lane
    overridden,
  } kind;
  StreamId stream = 0;
  LaneId lane = 0;
  std::uint64_t listener = 0;
  Status status;
  bool too_slow = false;            // lane_failed_by_peer: that was why
  CreditWindow::Override how = {};  // overridden
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
  // Unfinished requests end as cancelled. The reference is dead afterwards.
  void close(SendStream& stream);
  void close(RecvStream& stream);
  // True (and the stream failed as cancelled) when an unfinished request of it touched `range`.
  bool withdraw(SendStream& stream, std::span<const std::byte> range);
  bool withdraw(RecvStream& stream, std::span<const std::byte> range);
  // The same where the request is not posted yet.
  void cancel(SendStream& stream);
  void cancel(RecvStream& stream);

  // --- lanes. A number is used once in a session. `local_rail`, `remote_rail`: indices below 64 into each side's list
  // of rails. A lane that the peer gave up before it was added here is condemned at once. What is over is forgotten
  // here, so that lanes may come and go for as long as there are numbers. `doubtful`: its path failed, or lost packets,
  // before the lane stood; like a lane that comes after a loss, such a lane gets padding, and no data until the padding
  // is acknowledged, while another lane is better. `first`: the credit until the receiver says more.
  void add_lane(LaneId lane, int local_rail, int remote_rail, bool doubtful = false, const Credit& first = {});
  // The lane is closed for good: nobody reads or writes it any more. What it carried waits for the peer's FENCE.
  // `too_slow`: why; the peer, who may be the one that dials, is told.
  void lose_lane(LaneId lane, bool too_slow = false);
  int live_lanes() const;
  // Whether `lane` takes new frames while another lane is there; the peer is told. It ends in good order: the peer
  // gives it up once all that both ends wrote there is consumed. True: that is news. For the side that dials only.
  bool retire(LaneId lane, bool retires);
  // One end or the other said so, and another lane serves in its stead.
  bool is_retiring(LaneId lane) const;
  // Forgets lanes that are lost, and both FENCEs for them at their ends; add_lane() does it, too. Those that are left:
  void forget_lanes();
  bool knows_lane(LaneId lane) const { return find(lane) != nullptr; }
  bool had_lane(LaneId lane) const { return knows_lane(lane) || was_forgotten(lane); }
  std::size_t known_lanes() const { return lanes_.size(); }
  // For another one (kLanesKnownMax).
  bool has_room_for_lane() const;

  struct LaneReport {
    std::uint64_t outstanding_bytes = 0;   // in the kernel or on the network, unacknowledged
    std::uint64_t acknowledged_bytes = 0;  // ever
    Nanos min_rtt{0};
    Nanos smoothed_rtt{0};  // both: 0 if not known
  };
  void report(LaneId lane, TimePoint now, const LaneReport& report);
  // Enough is at stake for next_frames() to want a fresh report first, and the last one is not fresh.
  bool wants_report(LaneId lane, TimePoint now) const;

  // --- control never waits for one lane (decision D8): session_protocol_late.cc
  struct LanePoll {
    LaneId lane = 0;
    LaneReport report;
  };
  static constexpr Nanos kLatePoll = std::chrono::milliseconds(20);
  // Another lane is there, and this one is late or holds statements that its kernel may not have acknowledged:
  // say_late_control_again() should be called every kLatePoll.
  bool watches_control() const;
  // `lanes`: all open ones, whose kernels were asked between `before` and `now`. Statements that their lane's kernel
  // did not acknowledge in time are to go by another lane as well, once for each lane, unless all lanes are late. A
  // late lane gets no control while another one is not late. Returns how many frames are said again; they are there for
  // next_frames().
  std::size_t say_late_control_again(TimePoint before, TimePoint now, std::span<const LanePoll> lanes);
  // Statements that lanes took ever, and those of them that were said again because they were late.
  std::uint64_t control_frames() const { return control_frames_; }
  std::uint64_t control_frames_said_again() const { return control_frames_said_again_; }

  // --- credit windows (docs/internals/credit_windows.md): session_protocol_windows.cc
  // The peer may send so much by `lane`, until this end says more. Nothing for a lane that is lost.
  void announce_window(LaneId lane, const Credit& credit);
  struct Arrivals {
    std::uint64_t position = 0;     // bytes of the lane that were consumed, headers included
    std::uint64_t segments = 0;     // of the lane that were consumed, ever
    std::uint32_t waiting_kib = 0;  // that the peer's session had waiting behind the last segment of the lane
  };
  Arrivals arrivals(LaneId lane) const;
  // What stands of what the peer said of a lane that we send by; no bound for one that is not here.
  Credit send_credit(LaneId lane) const;
  // How long data waited here because the peer allowed no more by `lane`.
  Nanos without_credit(LaneId lane) const;

  // There will be a frame for the lane soon, if only a KEEP: it is to be acknowledged. Nothing where the ledger is
  // full.
  void ask_for_sign(LaneId lane);
  // A heartbeat probe goes by the lane soon: the peer's session answers it, and not only its kernel. Nothing where the
  // ledger is full.
  void ask_for_answer(LaneId lane);
  // Ever, on all lanes: grows while the peer's session lives and is asked.
  std::uint64_t consumed_frames() const { return consumed_frames_; }
  // Segments ever, on all lanes and both ways: the peer's that came, and ours that the peer has.
  std::uint64_t exchanged_segments() const { return exchanged_segments_; }
  // A frame is partly written and the kernel takes no more (or does again): control goes by other lanes meanwhile.
  void set_blocked(LaneId lane, bool blocked);
  Rate rate_of(LaneId lane) const;
  // The lane holds segments, and not padding alone, when the peer's kernel acknowledged the first `acknowledged_bytes`
  // that the lane ever took.
  bool holds_data(LaneId lane, std::uint64_t acknowledged_bytes) const;

  // Frames that this lane should write now. `flush` also sends what otherwise waits for company. None once the session
  // failed: that its lanes end is what the peer is to hear, not that streams were closed.
  std::size_t next_frames(LaneId lane, std::span<OutgoingFrame> frames, bool flush);
  void on_written(LaneId lane, std::size_t frames);
  void on_released(LaneId lane, std::size_t frames);
  Result<std::span<std::byte>> on_header(LaneId lane, ConstHeaderBytes bytes);
  Status on_consumed(LaneId lane);
  // The payload that is arriving on this lane is for `stream` (one that we receive).
  bool lands(LaneId lane, StreamId stream) const;
  // Somebody reads it while it lands: it must be written in ascending order.
  bool is_read_while_landing(LaneId lane) const;
  // Every lane is blocked: receives stop waiting for their acks to be handed over.
  void publish_without_acks();

  // True when next_frames() of some lane may have something: new since the lanes were last asked, or held back.
  bool has_data() const { return !turns_.empty(); }
  bool has_control() const {
    return !send_control_.empty() || !recv_control_.empty() || session_control_ || signs_asked_ > 0 ||
           any_owes_padding();
  }
  bool has_lazy() const { return !lazy_.empty(); }

  // --- rails that are new or changed since the session began (rail_updates.h)
  void announce_rail(RailUpdates::Statement news);
  std::vector<RailUpdates::Statement> drain_rail_updates() { return rail_news_.take_heard(); }

  // --- ending
  void say_goodbye();
  // And no lane is lost whose FENCE may yet say that the GOODBYE, or what went before it, has to go again.
  bool goodbye_written() const;
  bool peer_said_goodbye() const { return peer_goodbye_; }
  // Ends every request with `why`; the first error sticks. May be repeated when it ran out of memory.
  void fail(const Status& why);
  const Status& error() const { return error_; }

  // Drain after every call.
  Completions& completions() { return completions_; }
  std::vector<Event>& events() { return events_; }

  std::size_t send_streams() const { return send_streams_.size(); }
  std::size_t recv_streams() const { return recv_streams_.size(); }
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  // Requests posted and not ended.
  void count_unfinished(std::uint64_t& sends, std::uint64_t& receives) const;

 private:
  struct Lane {
    LaneId id = 0;
    std::uint64_t local_bit = 0, remote_bit = 0;
    enum class State { live, lost, fenced } state = State::live;
    bool blocked = false;
    bool fence_pending = false;  // our FENCE for it must go out by another lane
    bool fence_taken = false;    // the peer has it
    bool closed = false;         // lose_lane() said so
    bool too_slow = false;       // that was why; the FENCE says so
    bool sign_asked = false, answer_asked = false;
    bool fenced_early = false;       // the peer gave it up before we had it
    bool retires = false;            // as we or the peer said last
    bool retire_pending = false;     // our word of that must go out by another lane
    bool retire_heard = false;       // it was the peer's word ...
    bool retired_announced = false;  // ... and lane_retired is told
    std::uint64_t retire_edition = 0;
    std::uint64_t retire_frames = 0;  // that the peer gave it before
    bool peer_fenced = false;
    // else it is doubtful or came after a loss, and kBytes of a LaneProbe were not acknowledged yet
    bool proven = true;
    std::uint64_t peer_fence_count = 0;
    std::uint64_t taken_bytes = 0;  // ever
    std::uint64_t data_end = 0;     // taken_bytes behind the last segment
    LaneView view;
    TimePoint reported_at{};
    CreditWindow window;  // of what we send there
    Arrivals arrivals;
    Credit announced_window;  // of what arrives there
    std::uint64_t window_edition = 0;
    bool window_pending = false;  // announced_window must go out
    RateEstimator estimator;
    LaneProbe probe;
    QueueingBound held;
    LateFrames late;
    LaneLedger ledger;
    FrameHeader incoming;           // whose payload is arriving
    RecvStream* landing = nullptr;  // the stream it is for
    std::array<std::byte, kControlPayloadBytesMax> control_payload;
  };

  Lane* find(LaneId id);
  const Lane* find(LaneId id) const;
  // REQUIRES: knows_lane(id).
  Lane& known(LaneId id);
  bool is_held_back(const Lane& lane) const;
  bool owes_padding(const Lane& lane) const;
  bool any_owes_padding() const;
  // It takes new frames.
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
  void say_again(const FrameHeader& frame);

  // After any call that changed a stream: puts it into the lists it belongs to, forgets it when it is gone.
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
  int urgent_send_streams_ = 0;  // of these
  std::unordered_map<StreamId, std::unique_ptr<RecvStream>> recv_streams_;
  StreamId next_send_id_ = 0;
  StreamId next_recv_id_ = 0;   // ids below were opened by the peer, perhaps forgotten since
  std::size_t unaccepted_ = 0;  // of recv_streams_

  RoundRobin turns_;
  Fifo<SendStream, &SendStream::control_hook> send_control_;
  Fifo<RecvStream, &RecvStream::control_hook> recv_control_;
  Fifo<RecvStream, &RecvStream::lazy_hook> lazy_;  // streams with something that may ride along
  std::uint64_t waiting_bytes_ = 0;                // sendable on any stream

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<bool> forgotten_;  // by id: lanes that were, whose FENCEs may come once more
  int signs_asked_ = 0;          // of lanes
  std::uint64_t consumed_frames_ = 0, exchanged_segments_ = 0;
  std::uint64_t control_frames_ = 0, control_frames_said_again_ = 0;
  bool lost_lane_ = false;        // some lane was lost: those that come must prove themselves
  bool must_prove_ = false;       // some lane came unproven, ever: else any_owes_padding() looks at none
  bool session_control_ = false;  // a FENCE, RETIRE, WINDOW, RAILS or GOODBYE waits
  RailUpdates rail_news_;
  bool goodbye_pending_ = false, goodbye_written_ = false, peer_goodbye_ = false;
};

}  // namespace railweave::protocol
