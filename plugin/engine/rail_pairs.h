// What becomes of each pair of rails of a session that we dialled: which are to have lanes now, and how many; which rest, and how long
// (docs/reliability.md, "Who sees to it that there are lanes").
//
//   pair:  wanted → joining → up ──lane lost──→ resting → joining → ...
//                      └──refused, silent, 3 s──→ resting
//
// Dials nothing and asks no clock: LaneUpkeep does, and in virtual time tests/sim. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/lane_plan.h"
#include "railweave/units.h"

namespace railweave::engine {

class RailPairs {
 public:
  static constexpr Nanos kTime = std::chrono::seconds(3);
  static constexpr Nanos kTimeOfMany = std::chrono::milliseconds(1200);  // while others wait: a SYN that is lost comes again after 1 s

  struct Pair {
    RailPair rails;
    int lanes = 1;                 // that it should have, were there room for all
    int up = 0;                    // that it has, as of the last look
    int joining = 0;               // that are being dialled
    bool has_way = false;          // its rails have addresses that reach each other
    bool home = false;             // in the plan when every rail works; another stands in
    bool failed = false;           // the last try did
    bool named = false;            // the log has said that it rests
    bool knocked = false;          // the peer did, by it, and it was not tried since
    int turn = 0;                  // among those that were never tried (spread_pairs())
    TimePoint tried_at{};          // when the last one began or ended
    TimePoint up_since{};          // the last of its lanes; 0: it never carried
    TimePoint rests_until{};
    Nanos rest{0};                 // the last one's, which the next doubles; 0: kRestLeast is next
    Nanos rest_at_loss{0};         // what it was when the last lane went: dials that failed since are no flapping

    bool carried() const { return up_since != TimePoint{}; }
    // One that never came up in spite of a try is not what a session whose peer is gone should wait for.
    bool promises() const { return carried() || rest == Nanos{0}; }
  };
  struct Candidate {
    RailPair rails;
    int lanes = 1;
  };
  // A lane to dial, if fewer than `room` of the session are open or being dialled by then. `time`: to connect, and as much again from
  // then on.
  struct Due {
    Pair* pair = nullptr;
    int room = 0;
    Nanos time = kTime;
  };
  struct Hooks {
    std::function<bool(int rail)> has_link;       // ours
    std::function<bool(int rail)> peer_has_link;  // as the peer says
    std::function<int()> chance;                  // 0 to 255
    std::function<void(const Pair&)> long_rest;   // of one that carried, once
  };

  explicit RailPairs(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Those that could carry a lane, best first; `local_rails` and `remote_rails` there are. Those known before keep what they went
  // through, and stay, too, where there is no way any more: lanes may be left of them.
  void know(const std::vector<Candidate>& candidates, int local_rails, int remote_rails);
  // The pair of the lane that made the session, which is up. After know(), which need not have named it. `astray`: another pair was
  // dialled, so this one stands in.
  void begin(const RailPair& first, TimePoint t, bool astray = false);
  // Never moves; null: unknown.
  Pair* find(const RailPair& rails) const;

  // Of the lanes that are open: a pair that has fewer than at the last look rests, the longer, the sooner after it came up they went.
  // `slow`: pairs that lost one for that, or are about to, since then.
  void see_lanes(const std::vector<RailPair>& open, const std::vector<RailPair>& slow, TimePoint t);
  // With nothing left, those that carried are tried about once a second: the longest rest is longer than a peer is waited for.
  void hurry();
  template <class Which>
  void wake(const Which& which) {
    for (const auto& pair : pairs_)
      if (which(pair->rails)) pair->rests_until = {};
  }

  // What the plan lacks, in the order in which to dial it: first lanes of all pairs come before second ones.
  std::vector<Due> due(TimePoint t);
  // While no lane is heard: one of every pair, for any may be the one that works; so many `places` are free. Where not all can be under
  // way at once they take turns: half for those that carried before, or by which the peer knocked, while there are others.
  std::vector<Due> due_in_silence(TimePoint t, int places) const;
  void on_knock(const RailPair& by);
  void try_began(Pair& pair, TimePoint t);
  void try_ended(Pair& pair, TimePoint t);
  // What came of it.
  void came_up(Pair& pair, TimePoint t);
  void failed(Pair& pair, TimePoint t);

  // When the first one of those that rest at `t` no longer does; TimePoint::max(): none rests.
  TimePoint first_rested(TimePoint t) const;

 private:
  static constexpr Nanos kRestLeast = std::chrono::milliseconds(100);   // start
  static constexpr Nanos kRestMostRefused = std::chrono::seconds(2);    // of pairs that carried before and do not come up
  static constexpr Nanos kRestMostFlapping = std::chrono::seconds(30);  // of those that do, and go again, or never carried
  static constexpr Nanos kRestUnnamed = std::chrono::seconds(2);        // who rests longer after it carried is named in the log
  static constexpr Nanos kRestSlow = std::chrono::seconds(5);           // start, of those that were too slow
  static constexpr Nanos kRestSlowBack = std::chrono::seconds(1);       // start, of those that were too slow just after they came back
  static constexpr Nanos kJustBack = std::chrono::seconds(3);           // so long: TCP may take the outage for a round trip
  static constexpr Nanos kSteady = std::chrono::seconds(10);            // a lane that lived so long did not flap
  static constexpr Nanos kRestInSilence = std::chrono::seconds(1);      // of every pair, while the peer is silent
  static constexpr int kTriesInSilence = kPlacesMax - kLanesMax;        // at once
  // What matters more finds room when others, from before or standing in, have filled theirs.
  static constexpr int kRoomForFirst = kPlacesMax;
  static constexpr int kRoomForFirstOfStandIn = (kLanesMax + kPlacesMax) / 2;
  static constexpr int kRoomForMore = kRoomForFirstOfStandIn;
  static constexpr int kRoomForMoreOfStandIn = kLanesMax;

  void choose_home();
  std::vector<Pair*> plan(TimePoint t) const;
  bool stands_beside(const Pair& pair) const;
  int share_of_lanes() const;
  void let_rest(Pair& pair, TimePoint t, Nanos most);

  Hooks hooks_;
  int local_rails_ = 0, remote_rails_ = 0;
  std::vector<std::unique_ptr<Pair>> pairs_;  // best first; behind them those that have no way
  std::vector<RailPair> slow_;                // whose loss was not seen yet
};

}  // namespace railweave::engine
