// Keeps the state of each pair of rails of a session that this instance dialled (docs/operate/reliability.md, "Who sees
// to it that there are lanes"). Decides which pairs are to have lanes now, and how many. Decides which pairs are in
// backoff, and for how long, and which lanes are too many.
//
//   pair:  wanted → joining → up ──lane lost──→ in backoff → joining → ...
//                      └──refused, silent, 3 s──→ in backoff
//         backup pair:         up ──primary pairs are up again──→ retiring ──→ wanted, if a primary pair is lost again
//
// Dials nothing and reads no clock: LaneReconciler does. Threads: one at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/reconcile/backoff.h"
#include "engine/reconcile/lane_plan.h"
#include "engine/reconcile/rail_backoff.h"
#include "engine/reconcile/wire_upgrade.h"
#include "railweave/units.h"

namespace railweave::engine {

class RailPairs {
 public:
  static constexpr Nanos kTime = std::chrono::seconds(3);
  // while other pairs wait: TCP retransmits a lost SYN after 1 s
  static constexpr Nanos kTimeOfMany = std::chrono::milliseconds(1200);

  struct Pair {
    RailPair rails;
    int lanes = 1;              // lanes that it should have, if there is room for all pairs
    int up = 0;                 // open lanes, as of the last see_lanes() or came_up()
    int joining = 0;            // lanes being dialled
    bool has_way = false;       // its rails have addresses that reach each other
    bool is_primary = false;    // primary pair: in the plan while every rail works; false: backup pair
    bool failed = false;        // the last try failed
    bool named = false;         // the log has named its long backoff
    bool probed = false;        // the peer probed by it, and it was not tried since
    int turn = 0;               // order among pairs that were never tried (spread_pairs())
    TimePoint tried_at{};       // when the last try began or ended
    TimePoint up_since{};       // when its last lane came up; TimePoint{}: it never carried
    TimePoint retires_since{};  // when its surplus lanes began to retire; TimePoint{}: it has none
    Backoff backoff;
    WireUpgrade upgrade;

    bool carried() const { return up_since != TimePoint{}; }
    // True: a session whose peer is gone may wait for a lane of this pair. False: the pair never came up in spite of a
    // try.
    bool promises() const { return carried() || backoff.last() == Nanos{0}; }
  };
  struct Candidate {
    RailPair rails;
    int lanes = 1;
  };
  // A lane to dial, if fewer than `room` lanes of the session are open or being dialled by then. `time`: to connect,
  // and as much again from an established connection on.
  struct Due {
    Pair* pair = nullptr;
    int room = 0;
    Nanos time = kTime;
  };
  struct Hooks {
    std::function<bool(int rail)> has_link;         // ours
    std::function<bool(int rail)> peer_has_link;    // as the peer announced
    Backoff::Jitter jitter;                         // 0 to 255
    std::function<void(const Pair&)> long_backoff;  // logs the long backoff of a pair that carried; called once
  };

  explicit RailPairs(Hooks hooks) : hooks_(std::move(hooks)) {}

  // `candidates`: pairs that could carry a lane, best first. `local_rails`, `remote_rails`: numbers of rails. Known
  // pairs keep their state. Known pairs without a route stay, too, because they may still have lanes.
  void know(const std::vector<Candidate>& candidates, int local_rails, int remote_rails);
  // `first`: the pair of the lane that made the session, which is open. Call after know(), which need not have named
  // the pair. `astray`: another pair was dialled, so this one is a backup pair.
  void begin(const RailPair& first, TimePoint t, bool astray = false);
  // Returns a pair whose address stays the same; null: unknown pair.
  Pair* find(const RailPair& rails) const;

  // `open`: the pair of each open lane. A pair with fewer lanes than at the last call goes into backoff
  // (Backoff::lost()). `slow`: pairs that, since the last call, lost a lane for being too slow, or are about to.
  void see_lanes(const std::vector<RailPair>& open, const std::vector<RailPair>& slow, TimePoint t);
  // No lane is left: the pairs that carried are tried about once a second. The longest backoff is longer than a session
  // waits for its peer.
  void expedite();
  // A rail of ours, or of the peer's, has a link again or other addresses. Ends the backoff of the rail and of its
  // pairs.
  void wake_local(int rail);
  void wake_remote(int rail);

  // Returns the lanes that the plan lacks, in the order in which to dial them: first lanes of all pairs come before
  // second ones.
  std::vector<Due> due(TimePoint t);
  // While no lane is heard: returns one lane of every pair, because any may be the one that works. `places`: free
  // places. If not all can be under way at once, pairs take turns. Half of the lanes go to pairs that carried before,
  // or by which the peer probed, while there are others.
  std::vector<Due> due_in_silence(TimePoint t, int places) const;
  // The peer probed by this pair.
  void on_probe(const RailPair& by);
  void try_began(Pair& pair, TimePoint t);
  void try_ended(Pair& pair, TimePoint t);
  // The same as try_ended(), for a try that had no answer for long and makes room for another one by the same pair.
  // Backup pairs carry until a try succeeds.
  void try_unanswered(Pair& pair, TimePoint t);
  // Outcomes of a try.
  void came_up(Pair& pair, TimePoint t);
  void failed(Pair& pair, TimePoint t);

  // Returns lanes that are to retire now: lanes of backup pairs whose primary pairs are up again, and lanes beyond the
  // number of their pair. (A lane may have been dialled for another pair.) A lane that retires in vain serves again
  // after kRetireMost, and retires again later. Call after see_lanes().
  std::vector<Surplus> surplus(TimePoint t);

  // True: the pair has all of its lanes, none is retiring, and one more may be dialled to replace one of them.
  bool may_replace_lane(const Pair& pair, TimePoint t) const;

  // Returns when a lane will be due, or no longer surplus, by time alone; TimePoint::max(): never.
  TimePoint next_change(TimePoint t) const;

 private:
  // the log names a pair that carried, and whose backoff is longer than this
  static constexpr Nanos kBackoffUnnamed = std::chrono::seconds(2);
  // starting value; longer than a lane that loses all packets takes to be given up
  static constexpr Nanos kPrimarySteady = std::chrono::seconds(2);
  // starting value; data that a lane holds takes half a second at most, or the lane is given up as slow
  static constexpr Nanos kRetireMost = std::chrono::seconds(2);
  static constexpr Nanos kRetireAgain = std::chrono::seconds(10);   // starting value; after a retirement began in vain
  static constexpr Nanos kRestInSilence = std::chrono::seconds(1);  // backoff of every pair, while the peer is silent
  static constexpr int kTriesInSilence = kPlacesMax - kLanesMax;    // lanes dialled at once
  // The room of a Due. Lanes that matter more find room when others, older ones or those of backup pairs, have filled
  // theirs.
  static constexpr int kRoomForFirst = kPlacesMax;
  static constexpr int kRoomForFirstOfBackup = (kLanesMax + kPlacesMax) / 2;
  static constexpr int kRoomForMore = kRoomForFirstOfBackup;
  static constexpr int kRoomForMoreOfBackup = kLanesMax;

  struct Loss {
    Pair* pair = nullptr;
    bool too_slow = false;
  };

  void choose_primary();
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
  std::map<int, RailBackoff> local_, remote_;  // by rail, for each rail of a known pair
  std::vector<std::unique_ptr<Pair>> pairs_;   // best first; pairs without a route come last
  std::vector<RailPair> slow_;                 // lost a lane as too slow, and see_lanes() has not seen the loss yet
};

}  // namespace railweave::engine
