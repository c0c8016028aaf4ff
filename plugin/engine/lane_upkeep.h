// Sees to it that a session that we dialled has lanes: first the rest of the plan, then, as long as it lives, whatever is lost
// (docs/reliability.md, "Who sees to it that there are lanes").
//
//   pair:  wanted → joining → up ──lane lost──→ resting → joining → ...
//                      └──refused, silent, 3 s──→ resting
//
// On the reactor's thread only. Destroying it gives up what is being dialled.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/dial.h"
#include "engine/handshake.h"
#include "engine/lane_plan.h"
#include "engine/live_session.h"

namespace railweave::engine {

class LaneUpkeep {
 public:
  // `self` outlives it. `first`: the pair of the lane that made the session, which is lane 0. `joined`: where new lanes go.
  using Joined = std::function<void(LiveSession& session, NewLane lane)>;
  LaneUpkeep(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class,
             std::shared_ptr<LiveSession> session, std::vector<PeerRail> peer_rails, const RailPair& first, Joined joined);
  ~LaneUpkeep();

  // Dials what is missing and may be dialled now. When it begins, after lanes were lost, and while the peer is silent: then any
  // pair may be the one that works, and the lanes there are count for nothing.
  void look();
  // The peer hears nothing of us, or has lost its lanes. Those there are may be dead, though we, who owe nothing, did not notice.
  void on_knock();
  // A rail of ours has a link again: its pairs rest no longer.
  void on_link_up(int rail);
  // One of ours is new, or has other addresses; one of the peer's is so. Likewise.
  void on_own_rail(int rail);
  void on_peer_rail(int rail, PeerRail is);

 private:
  static constexpr Nanos kJoinTime = std::chrono::seconds(3);
  static constexpr Nanos kRestLeast = std::chrono::milliseconds(100);   // start
  static constexpr Nanos kRestMostRefused = std::chrono::seconds(2);    // of pairs that carried before and do not come up
  static constexpr Nanos kRestMostFlapping = std::chrono::seconds(30);  // of those that do, and go again, or never carried
  static constexpr Nanos kRestUnnamed = std::chrono::seconds(2);        // who rests longer after it carried is named in the log
  static constexpr Nanos kRestSlow = std::chrono::seconds(5);           // start, of those that were too slow
  static constexpr Nanos kRestSlowBack = std::chrono::seconds(1);       // start, of those that were too slow just after they came back
  static constexpr Nanos kJustBack = std::chrono::seconds(3);           // so long: TCP may take the outage for a round trip
  static constexpr Nanos kSteady = std::chrono::seconds(10);            // a lane that lived so long did not flap
  static constexpr Nanos kRestInSilence = std::chrono::seconds(1);      // of every pair, while the peer is silent
  static constexpr std::size_t kAttemptsInSilence = LiveSession::kPlacesMax - LiveSession::kLanesMax;  // at once
  static constexpr int kLanesMostOfStandIns = (LiveSession::kLanesMax + LiveSession::kPlacesMax) / 2;  // others have room, too

  struct Pair {
    RailPair rails;
    int up = 0;                    // its lanes, as of the last look
    bool has_way = false;          // its rails have addresses that reach each other
    bool home = false;             // in the plan when every rail works; another stands in
    bool failed = false;           // the last try did
    bool named = false;            // the log has said that it rests
    TimePoint tried_at{};          // when the last one began or ended
    TimePoint up_since{};          // the last of them
    Nanos rest{0};                 // the last one's, which the next doubles; 0: kRestLeast is next
    Nanos rest_at_loss{0};         // what it was when the last lane went: dials that failed since are no flapping
    TimePoint rests_until{};
  };
  // While it lives, losing the session's other lanes ends nothing.
  class Joining {
   public:
    explicit Joining(std::shared_ptr<LiveSession> session) : session_(std::move(session)) { session_->join_began(); }
    Joining(Joining&&) = default;
    ~Joining() { if (session_) session_->join_ended(); }

   private:
    std::shared_ptr<LiveSession> session_;
  };
  struct Attempt {
    Pair* pair = nullptr;
    protocol::LaneId lane = 0;
    std::string what;              // "eth0 to 10.0.0.2:4000"
    std::optional<Joining> joining;
    std::unique_ptr<Handshake> handshake;
  };

  Pair* find(const RailPair& rails) const;
  void find_pairs();
  void choose_home();
  template <class Which>
  void wake_pairs(const Which& which);
  void look_at_losses(TimePoint t);
  void hurry();
  void dial_plan(TimePoint t);
  void dial_any(TimePoint t);
  std::vector<RailPair> plan(TimePoint t) const;
  void join(Pair& pair, int lanes_most);
  void on_join(Attempt& attempt, Handshake::Outcome outcome);
  void let_rest(Pair& pair, TimePoint t, Nanos most);
  void look_when_rested(TimePoint t);
  int wanted_lanes(const Pair& pair) const;
  int share_of_lanes() const;
  bool stands_beside(const Pair& pair) const;
  int dialled(const Pair& pair) const;

  Reactor& reactor_;
  const Identity& self_;
  const InstanceId peer_;
  const int traffic_class_;
  const std::shared_ptr<LiveSession> session_;
  std::vector<PeerRail> peer_rails_;
  const Joined joined_;
  std::vector<std::unique_ptr<Pair>> pairs_;         // that could carry a lane, best first, or could once
  std::vector<std::unique_ptr<Attempt>> attempts_;   // under way
  std::uint32_t next_lane_ = 1;                      // numbers are used once in a session ...
  std::vector<protocol::LaneId> unheard_of_;         // ... and these were not: the peer never saw them
  std::vector<RailPair> slow_;                       // lost a lane for that, or are about to
  bool knocked_ = false;                             // since the last look
  Reactor::TimerId timer_ = 0;
};

}  // namespace railweave::engine
