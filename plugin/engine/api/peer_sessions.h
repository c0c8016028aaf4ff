// The reactor's work for each session of an engine: one record a session. Threads: the reactor's only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/connect/rail_dialler.h"
#include "engine/rails/absent_rails.h"
#include "engine/rails/own_rails.h"
#include "engine/rails/rail_log.h"
#include "engine/reconcile/lane_reconciler.h"
#include "engine/reconcile/peer_probe.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"
#include "engine/session/session_watch.h"

namespace railweave::engine {

struct PeerSession {
  std::shared_ptr<Session> session;
  std::unique_ptr<SessionWatch> watch;
  // Only a session by rails has the members below. `reconciler` is set where this end dialled the session, `probe`
  // where the peer dialled. Both refer to the session's lanes and to the dialler.
  std::unique_ptr<RailLog> rail_log;
  std::unique_ptr<RailDialler> dialler;
  std::unique_ptr<LaneReconciler> reconciler;
  std::unique_ptr<PeerProbe> probe;
  std::unique_ptr<AbsentRails> absent_rails;  // refers to reconciler

  bool by_rails() const { return rail_log != nullptr; }
  // Lanes were lost, or are wanted.
  void on_lane_wanted();
  // A lane is open. May be called from within the watch's poll().
  void on_lane();
  // Applies what the peer announced of its rails. A malformed announcement ends the session.
  void apply_rails();
};

class PeerSessions {
 public:
  // Both outlive the object.
  PeerSessions(Reactor& reactor, const OwnRails& rails) : reactor_(reactor), rails_(rails) {}

  PeerSession& add(std::shared_ptr<Session> session, bool by_rails);
  // Null: the session has no record, or none any more.
  PeerSession* find(const Session& session);
  // Removes the record. REQUIRES: no call into the record is on the stack.
  void remove(const Session& session);
  // Dials and probes for no session from now on; the sessions are still watched.
  void stop_reconciling();
  void clear() { records_.clear(); }

  // --- events of our rails (OwnRails::Observer). `rail`: its index
  void on_link(int rail, bool up);
  void on_own_rail(int rail);
  void announce_rail(int rail);

  LoggedAbsences& logged_absences() { return logged_absences_; }
  RailWarnBudget& warn_budget() { return warn_budget_; }

 private:
  // Calls act(record) for each session, guarded: a session without memory ends, and the others go on.
  template <class Act>
  void each(const Act& act);
  void poll_absent_rails_later();

  Reactor& reactor_;
  const OwnRails& rails_;
  LoggedAbsences logged_absences_;
  RailWarnBudget warn_budget_;
  std::map<const Session*, PeerSession> records_;
};

}  // namespace railweave::engine
