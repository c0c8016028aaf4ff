// Dials the lanes of a session that this instance dialled (docs/operate/reliability.md, "Who sees to it that there are
// lanes"). The rest of the plan comes first. Later, as long as the session lives, each lost lane is dialled again.
// RailPairs decides which pairs of rails are dialled, and when. LaneReconciler decides by which addresses, and whether
// a welcomed lane is kept. SessionHealth judges what an answer says of the peer.
//
// Needs neither a reactor nor sockets (lane_dialler.h). Threads: the thread of the session's poll() only. Destroying
// the object cancels its dials.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/connect/lane_dialler.h"
#include "engine/rails/logged_absences.h"
#include "engine/reconcile/family_choice.h"
#include "engine/reconcile/join_failures.h"
#include "engine/reconcile/rail_pairs.h"

namespace railweave::engine {

class LaneReconciler {
 public:
  struct Options {
    int lanes_per_rail = 0;  // RAILWEAVE_LANES_PER_RAIL; 0: by the rails' speed
    Backoff::Jitter jitter;  // 0 to 255
  };
  // The lane that made the session: lane 0.
  struct FirstLane {
    RailPair rails;
    int dialled_rail = -1;  // rail of the peer whose address was dialled; -1: not known
  };
  // `logged` outlives the reconciler. `peer_rails`: as the peer announced them.
  LaneReconciler(const SessionAccess& session, const Options& options, std::vector<PeerRail> peer_rails,
                 const FirstLane& first, LoggedAbsences& logged);
  ~LaneReconciler();

  // Dials the lanes that are missing and may be dialled now. Call at the beginning, after lanes were lost, and while
  // the peer is silent. In a silence any pair may be the one that works, so existing lanes do not count.
  void poll();
  // The peer probed by these rails: the peer hears nothing from us, or has lost its lanes. Our lanes may be dead, too:
  // if nothing of ours awaits an acknowledgement, this end cannot have noticed. `family`: of the addresses of the
  // probe. `peer_rails`: the peer's present rails.
  void on_probe(const RailPair& by, Address::Family family, const std::vector<PeerRail>& peer_rails);
  // A rail of ours has a link again: ends the backoff of the rail and of its pairs.
  void on_link_up(int rail);
  // A rail of ours, or rails of the peer, are new or have other addresses. The same follows.
  void on_own_rail(int rail);
  struct PeerRailUpdate {
    int rail = 0;
    PeerRail is;  // its present state
  };
  void on_peer_rails(const std::vector<PeerRailUpdate>& news);

  const JoinFailures& failures() const { return failures_; }
  const std::vector<PeerRail>& peer_rails() const { return peer_rails_; }

 private:
  // While a Joining lives, the loss of the session's other lanes ends nothing.
  class Joining {
   public:
    explicit Joining(SessionLanes& lanes) : lanes_(lanes) { lanes_.join_began(); }
    ~Joining() {
      try {
        lanes_.join_ended();
      } catch (const std::bad_alloc&) {  // no memory for a second: the next poll ends a session that waits for no lane
      }
    }
    Joining(const Joining&) = delete;
    Joining& operator=(const Joining&) = delete;

   private:
    SessionLanes& lanes_;
  };
  struct Attempt {
    RailPairs::Pair* pair = nullptr;
    protocol::LaneId lane = 0;
    std::string what;  // "eth0 to 10.0.0.2:4000"
    Address::Family family = Address::Family::v4;
    bool link_local = false;  // the addresses are link-local
    bool is_upgrade = false;  // the lane is to replace one of a worse wire
    std::string why_probe;    // why no wire can begin a lane; then the dial only asks whether the peer lives
    TimePoint began_at{};
    std::optional<Joining> joining;
    std::unique_ptr<Join> join;
  };

  // The time of a try for which the other family may do: the first of two families, a link-local address, or a family
  // that never carried while the other one did. Longer than two round trips of most networks.
  static constexpr Nanos kTimeOfFirstFamily = std::chrono::milliseconds(500);
  static constexpr int kPlansMost = 8;  // in one poll; each plan leaves out pairs without a route

  RailPairs::Hooks hooks();
  void know_pairs();
  // False: the pair has no route, so the plan has changed.
  bool dial(const RailPairs::Due& due, const std::string& better_than = {});
  struct Upgrade {  // of a lane that a better wire may replace
    RailPairs::Pair* pair;
    TimePoint due;
  };
  std::optional<Upgrade> upgrade_of(const LaneTable::OpenLane& lane) const;
  void upgrade_wires(TimePoint t);
  bool has_other_way(const RailPair& rails, Address::Family than) const;
  bool take_peer_rail(int rail, const PeerRail& is);
  bool may_change_family(const RailPairs::Pair& pair, Address::Family from) const;
  void dial_by_probe(const RailPair& by, Address::Family family);
  bool is_short(const RailPairs::Pair& pair, const Route& route) const;
  protocol::LaneId free_number();
  void on_answer(Attempt& attempt, const JoinAnswer& answer);
  void on_probe_answer(const Attempt& attempt, const JoinAnswer& answer);
  std::optional<Route> find_way(RailPairs::Pair& pair);
  void on_welcome(Attempt& attempt, int remote_rail);
  void no_lane(const Attempt& attempt, const std::string& why);
  void note_failure(RailPairs::Pair& pair, std::string why);
  void note_undialled(const RailPairs::Pair& pair, const std::string& why);
  void note_failed_try(RailPairs::Pair& pair);
  void note_failed_join(const Attempt& attempt, std::string why, bool rests);
  std::string astray(const RailPair& where) const;
  bool is_surplus(const Attempt& attempt, const RailPair& where);
  void poll_at(TimePoint t);
  TimePoint next_upgrade() const;
  TimePoint now() const { return lanes_.now(); }
  int open_and_under_way() const { return int(lanes_.rails_in_use().size() + attempts_.size()); }
  const Rail& own(const RailPair& rails) const { return rails_[std::size_t(rails.local)]; }
  const PeerRail& peers(const RailPair& rails) const { return peer_rails_[std::size_t(rails.remote)]; }

  Timers& timers_;
  LaneDialler& dialler_;
  SessionLanes& lanes_;
  const std::vector<Rail>& rails_;  // ours
  const Options options_;
  std::vector<PeerRail> peer_rails_;
  RailPairs pairs_;
  FamilyChoice families_;
  JoinFailures failures_;
  std::vector<std::unique_ptr<Attempt>> attempts_;  // under way
  std::uint32_t next_lane_ = 1;                     // the next unused number; each is used once in a session
  std::vector<protocol::LaneId> free_again_;        // numbers whose lanes were never confirmed
  bool probed_ = false;                             // by the peer, since the last poll
  TimePoint steady_at_{};                           // when the lane that was welcomed last may be replaced
  Timers::TimerId timer_ = 0;
};

}  // namespace railweave::engine
