// One end of a session on simulated lanes: does for protocol::Session what the engine's LiveSession and LaneDriver do, in virtual
// time and by the clock of its host. What follows from lost and silent lanes is Lifeline's business.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>

#include "engine/lane_plan.h"
#include "protocol/session.h"
#include "tests/sim/host.h"
#include "tests/sim/memory_watch.h"
#include "tests/sim/turn_rules.h"
#include "wire/sim/network.h"

namespace railweave::sim {

// Where anything that must not happen is told. The first one stands.
using Fail = std::function<void(const std::string&)>;

class SessionEnd {
 public:
  SessionEnd(wire::SimNetwork& net, MemoryWatch& memory, std::string name, Host& host, const protocol::SessionOptions& options,
             std::uint64_t seed, Fail fail);
  ~SessionEnd();
  SessionEnd(const SessionEnd&) = delete;
  SessionEnd& operator=(const SessionEnd&) = delete;

  // Called from pump(), never from within the session.
  std::function<void(const protocol::Completion&)> on_completion;
  std::function<void(const protocol::Event&)> on_event;
  std::function<void()> on_gap;  // between a header and its payload others may post
  std::function<void(const std::string&)> on_trace;             // frames, for people
  std::function<void()> on_lane_back;                           // the first, of a session that had none
  std::function<void()> on_lane_reset;                          // before on_lane_lost, where it was no decision of this end
  std::function<void(const Status& why)> on_lane_lost;          // the session knows
  std::function<void()> on_acks_waived;
  // Frames, as they pass.
  enum class Passing { taken, written, met, consumed };         // met: a header came
  std::function<void(protocol::LaneId)> on_lane_stands;         // add_lane()
  std::function<void(Passing, const protocol::FrameHeader&)> on_frame;
  std::function<std::vector<const protocol::SendStream*>()> sending_streams;

  const std::string& name() const { return name_; }
  Host& host() { return host_; }
  protocol::Session& session() { return session_; }
  // For the caller's numbering of what it sends.
  std::uint64_t next_order() { return orders_++; }
  std::uint64_t incast_cap_bytes() const { return options_.incast_cap_bytes; }

  void add_lane(protocol::LaneId id, int local_rail, int remote_rail, std::unique_ptr<wire::SimLane> lane);
  // Closes the lane and tells the session; no effect when it is gone already.
  void give_up(protocol::LaneId id, const Status& why = Status(Code::remote, Scope::lane, "given up"));
  // These lanes retire from now on, and no others.
  void retire(const std::vector<engine::Surplus>& surplus, const std::set<protocol::LaneId>& others);
  // As if something between the hosts had ended all its connections.
  void reset_lanes();
  bool has_lane(protocol::LaneId id) const;
  struct OpenLane {
    protocol::LaneId id;
    int local_rail, remote_rail;
    wire::SimLane* lane;
  };
  std::vector<OpenLane> open_lanes() const;

  // --- ending
  // Ends every request; nothing moves here any more.
  void fail(const Status& why);
  bool over() const { return over_; }
  // GOODBYE, half-close, drain, close: a second at most.
  void leave();
  bool leaving() const { return leaving_; }
  // The process ends between two instructions; its kernel closes what was open. Or with the host: nobody closes anything.
  void die(bool with_host);

  // After any call to session(): the lanes look at it soon.
  void touch();
  // Nobody calls this end until then.
  void sleep_until(TimePoint when) { asleep_until_ = when; }
  void wake() {
    asleep_until_ = net_.now();
    touch();
  }
  // No lane reads or writes that memory any more.
  void withdraw(std::span<const std::byte> range);

  std::uint64_t bytes_moved() const { return bytes_moved_; }
  std::uint64_t bytes_consumed() const { return bytes_consumed_; }
  std::uint64_t segments_taken() const { return segments_taken_; }
  // For messages: what waits, and what each lane holds.
  std::string state() const;

 private:
  struct Port;
  void lane_reset(Port& port, const Status& why);

  void pump_in(Nanos delay);
  void pump();
  bool pump(Port& port, bool& blocked, bool& more);
  void watch_control();
  void look_for_late_control();
  void go_on_leaving();
  bool has_something_to_say() const { return session_.has_data() || session_.has_control() || session_.has_lazy(); }
  void drain();
  std::size_t budget();

  wire::SimNetwork& net_;
  MemoryWatch& memory_;
  const std::string name_;
  Host& host_;
  const protocol::SessionOptions options_;
  const Fail fail_;
  std::mt19937_64 random_;
  protocol::Session session_;
  TurnRules turns_;
  const bool one_at_a_time_;  // asks for frames so, and looks whose turn it is
  const bool zero_copy_;      // its lanes refer to what they send until the peer's kernel has it
  std::map<protocol::LaneId, std::unique_ptr<Port>> ports_;
  TimePoint next_pump_ = TimePoint::max(), asleep_until_{};
  Nanos pace_{};
  bool control_look_comes_ = false;
  bool over_ = false, dead_ = false, leaving_ = false, half_closed_ = false;
  std::uint64_t bytes_consumed_ = 0, bytes_moved_ = 0, segments_taken_ = 0, orders_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // events of the network may come later
};

}  // namespace railweave::sim
