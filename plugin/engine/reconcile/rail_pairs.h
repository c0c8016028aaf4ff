// What becomes of each pair of rails of a session that we dialled: which are to have lanes now, and how many; which
// rest, and how long; which lanes are too many (docs/operate/reliability.md, "Who sees to it that there are lanes").
//
//   pair:  wanted → joining → up ──lane lost──→ resting → joining → ...
//                      └──refused, silent, 3 s──→ resting
//         a stand-in:          up ──home pairs are up again──→ retiring ──→ wanted, should a home pair go again
//
// Dials nothing and asks no clock: LaneReconciler does. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/reconcile/backoff.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/reconcile/rail_backoff.h"
#include "railweave/units.h"

namespace railweave::engine {

class RailPairs {
 public:
  static constexpr Nanos kTime = std::chrono::seconds(3);
  // while others wait: a SYN that is lost comes again after 1 s
  static constexpr Nanos kTimeOfMany = std::chrono::milliseconds(1200);

  struct Pair {
    RailPair rails;
    int lanes = 1;              // that it should have, were there room for all
    int up = 0;                 // that it has, as of the last look
    int joining = 0;            // that are being dialled
    bool has_way = false;       // its rails have addresses that reach each other
    bool home = false;          // in the plan when every rail works; another stands in
    bool failed = false;        // the last try did
    bool named = false;         // the log has said that the pair backs off
    bool probed = false;        // the peer did, by it, and it was not tried since
    int turn = 0;               // among those that were never tried (spread_pairs())
    TimePoint tried_at{};       // when the last one began or ended
    TimePoint up_since{};       // the last of its lanes; 0: it never carried
    TimePoint retires_since{};  // it has more lanes than it should; 0: it does not
    Backoff backoff;

    bool carried() const { return up_since != TimePoint{}; }
    // One that never came up in spite of a try is not what a session whose peer is gone should wait for.
    bool promises() const { return carried() || backoff.last() == Nanos{0}; }
  };
  struct Candidate {
    RailPair rails;
    int lanes = 1;
  };
  // A lane to dial, if fewer than `room` of the session are open or being dialled by then. `time`: to connect, and as
  // much again from then on.
  struct Due {
    Pair* pair = nullptr;
    int room = 0;
    Nanos time = kTime;
  };
  struct Hooks {
    std::function<bool(int rail)> has_link;         // ours
    std::function<bool(int rail)> peer_has_link;    // as the peer says
    Backoff::Jitter jitter;                         // 0 to 255
    std::function<void(const Pair&)> long_backoff;  // of one that carried, once
  };

  explicit RailPairs(Hooks hooks) : hooks_(std::move(hooks)) {}

  // Those that could carry a lane, best first; `local_rails` and `remote_rails` there are. Those known before keep what
  // they went through, and stay, too, where there is no way any more: lanes may be left of them.
  void know(const std::vector<Candidate>& candidates, int local_rails, int remote_rails);
  // The pair of the lane that made the session, which is up. After know(), which need not have named it. `astray`:
  // another pair was dialled, so this one stands in.
  void begin(const RailPair& first, TimePoint t, bool astray = false);
  // Never moves; null: unknown.
  Pair* find(const RailPair& rails) const;

  // `open`: the pair of each open lane. A pair with fewer lanes than at the last look goes into backoff: the longer,
  // the sooner it lost them after it came up. `slow`: pairs that since the last look lost a lane for being too slow, or
  // are about to.
  void see_lanes(const std::vector<RailPair>& open, const std::vector<RailPair>& slow, TimePoint t);
  // With nothing left, those that carried are tried about once a second: the longest rest is longer than a peer is
  // waited for.
  void expedite();
  // A rail of ours, or of the peer's, has a link again or other addresses: neither it nor its pairs rest any longer.
  void wake_local(int rail);
  void wake_remote(int rail);

  // What the plan lacks, in the order in which to dial it: first lanes of all pairs come before second ones.
  std::vector<Due> due(TimePoint t);
  // While no lane is heard: one of every pair, for any may be the one that works; so many `places` are free. Where not
  // all can be under way at once they take turns: half for those that carried before, or by which the peer probed,
  // while there are others.
  std::vector<Due> due_in_silence(TimePoint t, int places) const;
  void on_probe(const RailPair& by);
  void try_began(Pair& pair, TimePoint t);
  void try_ended(Pair& pair, TimePoint t);
  // The same, of a try that had no answer for long and makes room for another one by the same pair: until a try
  // succeeds others stand in.
  void try_unanswered(Pair& pair, TimePoint t);
  // What came of it.
  void came_up(Pair& pair, TimePoint t);
  void failed(Pair& pair, TimePoint t);

  // Lanes that are to retire now: stand-ins for home pairs that are up again, and what was booked under another pair
  // than dialled where that has its lanes. What retires in vain serves again after kRetireMost, and is tried again
  // later. After see_lanes().
  std::vector<Surplus> surplus(TimePoint t);

  // When something will be due, or no longer surplus, by time alone; TimePoint::max(): nothing will.
  TimePoint next_change(TimePoint t) const;

 private:
  // a pair that rests longer after it carried is named in the log
  static constexpr Nanos kBackoffUnnamed = std::chrono::seconds(2);
  // start: longer than a lane that loses all takes to be given up
  static constexpr Nanos kHomeSteady = std::chrono::seconds(2);
  // start: what lanes hold takes half a second at most, or is recalled
  static constexpr Nanos kRetireMost = std::chrono::seconds(2);
  static constexpr Nanos kRetireAgain = std::chrono::seconds(10);   // start, after it began in vain
  static constexpr Nanos kRestInSilence = std::chrono::seconds(1);  // of every pair, while the peer is silent
  static constexpr int kTriesInSilence = kPlacesMax - kLanesMax;    // at once
  // What matters more finds room when others, from before or standing in, have filled theirs.
  static constexpr int kRoomForFirst = kPlacesMax;
  static constexpr int kRoomForFirstOfBackup = (kLanesMax + kPlacesMax) / 2;
  static constexpr int kRoomForMore = kRoomForFirstOfBackup;
  static constexpr int kRoomForMoreOfBackup = kLanesMax;

  struct Loss {
    Pair* pair = nullptr;
    bool too_slow = false;
  };

  void choose_home();
  // rail_pairs_plan.cc
  std::vector<Pair*> plan(TimePoint t) const;
  bool may_have_lanes(const Pair& pair, TimePoint t) const;
  std::vector<Pair*> free_pairs(TimePoint t) const;
  bool takes_turns(const Pair& pair, TimePoint t) const;
  bool stands_beside(const Pair& pair) const;
  int share_of_lanes() const;

  // rail_pairs_surplus.cc
  bool is_steady(const Pair& pair, TimePoint t) const { return pair.up > 0 && t >= steady_from(pair); }
  TimePoint steady_from(const Pair& pair) const;
  bool is_replaced(const Pair& pair, TimePoint t) const;
  bool is_retiring(const Pair& pair, TimePoint t) const;
  TimePoint next_change_of_surplus(TimePoint t) const;

  bool any_up() const;
  void count_lanes(TimePoint t);
  void lost(Pair& pair, bool too_slow, TimePoint t);
  void blame_rails(const std::vector<Loss>& losses, TimePoint t);
  void name_long_backoff(Pair& pair);
  const RailBackoff& local(const Pair& pair) const { return local_.at(pair.rails.local); }
  const RailBackoff& remote(const Pair& pair) const { return remote_.at(pair.rails.remote); }

  Hooks hooks_;
  int local_rails_ = 0, remote_rails_ = 0;
  std::map<int, RailBackoff> local_, remote_;  // of each rail of a known pair
  std::vector<std::unique_ptr<Pair>> pairs_;   // best first; behind them those that have no way
  std::vector<RailPair> slow_;                 // whose loss was not seen yet
};

}  // namespace railweave::engine
