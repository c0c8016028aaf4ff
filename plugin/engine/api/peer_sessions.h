// What the reactor does for each session of an engine: one record a session. Reactor's thread only.
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
  // Only a session by rails has the members below. One of reconciler and probe is there: reconciler where we dialled
  // the session, probe where the peer did. Both refer to the session's lanes and to the dialler.
  std::unique_ptr<RailLog> rail_log;
  std::unique_ptr<RailDialler> dialler;
  std::unique_ptr<LaneReconciler> reconciler;
  std::unique_ptr<PeerProbe> probe;
  std::unique_ptr<AbsentRails> absent_rails;  // refers to reconciler

  bool by_rails() const { return rail_log != nullptr; }
  // Lanes were lost, or are wanted.
  void on_lane_wanted();
  // A lane came. Perhaps from within the watch's poll().
  void on_lane();
  // What the peer said of its rails.
  void apply_rails();
};

class PeerSessions {
 public:
  // Both outlive it.
  PeerSessions(Reactor& reactor, const OwnRails& rails) : reactor_(reactor), rails_(rails) {}

  PeerSession& add(std::shared_ptr<Session> session, bool by_rails);
  // Null: it has no record, any more.
  PeerSession* find(const Session& session);
  // The record goes. REQUIRES: nothing of the record is on the stack below the caller.
  void remove(const Session& session);
  // Nobody sees to the lanes of any session from now on; they are still watched.
  void stop_reconciling();
  void clear() { records_.clear(); }

  // --- of our rails (OwnRails::Observer)
  void on_link(int rail, bool up);
  void on_own_rail(int rail);
  void announce_rail(int rail);

  LoggedAbsences& absence_logged() { return logged_absences_; }
  RailLines& rail_lines() { return rail_lines_; }

 private:
  // Each session's part, guarded: without memory that session ends, and the others have theirs.
  template <class Act>
  void each(const Act& act);
  void find_absent_rails();

  Reactor& reactor_;
  const OwnRails& rails_;
  LoggedAbsences logged_absences_;
  RailLines rail_lines_;
  std::map<const Session*, PeerSession> records_;
};

}  // namespace railweave::engine
