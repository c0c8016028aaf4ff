// Says in the log which rails have no lane of a session, with the cause as far as this host knows it and the setting
// that mends it (docs/operate/deployment.md, "Several NICs"): some seconds after the session began, and as long after a
// rail was lost, is new or has a link again. That a rail is lost RailLog says at once.
//
// On the reactor's thread only. Destroying it before its time says nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/rails/absence_times.h"
#include "engine/rails/logged_absences.h"
#include "engine/reconcile/join_failures.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"
#include "railweave/device.h"

namespace railweave::engine {

class AbsentRails {
 public:
  static constexpr Nanos kAfter = std::chrono::seconds(8);  // a pair has failed twice by then, by either address family

  // `rails` (ours) and `logged` outlive it.
  AbsentRails(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<Session> session,
              LoggedAbsences& logged);
  ~AbsentRails();

  // What the session's dialler knows. Both outlive it.
  void know(const JoinFailures& failures, const std::vector<PeerRail>& peer_rails);
  // Lanes were lost, or a rail may have one now.
  void poll_later();

 private:
  using Rails = std::vector<bool>;

  void poll_at(TimePoint t);
  void poll();
  void see(TimePoint t);
  static Rails which(const std::vector<RailPair>& pairs, int RailPair::*side, std::size_t rails);
  std::string cause_of(int rail, bool carried) const;
  void log_ours(int rail, bool carried, const std::string& cause, const std::string& hazard);
  void notify_peers(int rail, const Rails& ours);

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  const std::shared_ptr<Session> session_;
  LoggedAbsences& reported_;
  const JoinFailures* failures_ = nullptr;  // null: the peer dialled
  const std::vector<PeerRail>* peer_rails_ = nullptr;
  AbsenceTimes times_{kAfter};  // of ours
  Reactor::TimerId timer_ = 0;
};

}  // namespace railweave::engine
