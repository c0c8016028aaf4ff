// One end of a session on simulated lanes: does for protocol::Session what the engine does, in virtual time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "protocol/session.h"
#include "tests/sim/memory_watch.h"
#include "wire/sim/network.h"

namespace railweave::sim {

// Where anything that must not happen is told. The first one stands.
using Fail = std::function<void(const std::string&)>;

class SessionEnd {
 public:
  SessionEnd(wire::SimNetwork& net, MemoryWatch& memory, std::string name, const protocol::SessionOptions& options,
             std::uint64_t seed, Fail fail);
  ~SessionEnd();
  SessionEnd(const SessionEnd&) = delete;
  SessionEnd& operator=(const SessionEnd&) = delete;

  // Called from pump(), never from within the session.
  std::function<void(const protocol::Completion&)> on_completion;
  std::function<void(const protocol::Event&)> on_event;
  std::function<void(const protocol::FrameHeader& segment)> on_segment;  // consumed
  std::function<void()> on_gap;  // between a header and its payload others may post
  std::function<void(const std::string&)> on_frame;                      // for traces: taken or arrived

  const std::string& name() const { return name_; }
  protocol::Session& session() { return session_; }

  void add_lane(protocol::LaneId id, int local_rail, int remote_rail, std::unique_ptr<wire::SimLane> lane);
  // Closes the lane and tells the session; no effect when it is gone already.
  void give_up(protocol::LaneId id);
  bool has_lane(protocol::LaneId id) const;

  // After any call to session(): the lanes look at it soon.
  void touch();
  // Nobody calls this end until then.
  void sleep_until(TimePoint when) { asleep_until_ = when; }
  // No lane reads or writes that memory any more.
  void withdraw(std::span<const std::byte> range);

  std::uint64_t bytes_consumed() const { return bytes_consumed_; }
  // For messages: what waits, and what each lane holds.
  std::string state() const;

 private:
  struct Port;

  void pump_in(Nanos delay);
  void pump();
  bool pump(Port& port, bool& blocked, bool& more);
  void drain();
  std::size_t budget();

  wire::SimNetwork& net_;
  MemoryWatch& memory_;
  const std::string name_;
  const Fail fail_;
  std::mt19937_64 random_;
  protocol::Session session_;
  std::map<protocol::LaneId, std::unique_ptr<Port>> ports_;
  TimePoint next_pump_ = TimePoint::max(), asleep_until_{};
  std::uint64_t bytes_consumed_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // events of the network may come later
};

}  // namespace railweave::sim
