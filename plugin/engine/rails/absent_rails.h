// Logs which rails have no lane of a session (docs/operate/deployment.md, "Several NICs"). A line has the cause, as far
// as this host knows, and the setting that mends the cause. The lines come kAfter after the session began, and kAfter
// after a rail was lost, is new or has a link again. RailLog logs the loss itself, earlier.
//
// Threads: the reactor's only. Lifetime: an AbsentRails that is destroyed before kAfter has passed logs nothing.
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
  // A pair of rails has failed twice by then, over each address family.
  static constexpr Nanos kAfter = std::chrono::seconds(8);

  // `rails` (ours) and `logged` outlive this object.
  AbsentRails(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<Session> session,
              LoggedAbsences& logged);
  ~AbsentRails();

  // Takes the session dialler's records; both outlive this object. Not called where the peer dials.
  void know(const JoinFailures& failures, const std::vector<PeerRail>& peer_rails);
  // Call when lanes were lost, and when a rail may have a lane now.
  void poll_later();

 private:
  using Rails = std::vector<bool>;

  void poll_at(TimePoint t);
  void poll();
  void see(TimePoint t);
  static Rails which(const std::vector<RailPair>& pairs, int RailPair::*side, std::size_t rails);
  std::string cause_of(int rail, bool carried) const;
  void log_ours(int rail, bool carried, const std::string& cause, const std::string& hazard);
  void log_peers(int rail, const Rails& ours);

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  const std::shared_ptr<Session> session_;
  LoggedAbsences& logged_absences_;
  const JoinFailures* failures_ = nullptr;  // null: the peer dialled
  const std::vector<PeerRail>* peer_rails_ = nullptr;
  AbsenceTimes times_{kAfter};  // of our rails
  Reactor::TimerId timer_ = 0;  // of the next poll(); 0: none is due
};

}  // namespace railweave::engine
