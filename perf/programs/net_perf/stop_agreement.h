// How a load without a fixed length ends cleanly: no receive may be left over, none may be missing. A sender stops
// posting, tells how many messages it will have sent in the end (those posted, and as many again as may be in flight,
// so that the receiver cannot have posted more), waits for the receiver's word, and sends the rest.
#pragma once

#include "common/rendezvous.h"
#include "net_perf/proxy_loop.h"

namespace railweave::perf::net_perf {

class StopAgreement {
 public:
  StopAgreement(Rendezvous& rendezvous, FlowSet& flows) : rendezvous_(rendezvous), flows_(flows) {}

  // This rank's senders stop.
  Status begin();
  bool begun() const { return begun_; }
  // The other rank has yet to say something. Otherwise what it says next is not for us.
  bool expecting() const { return (!flows_.sends.empty() && !answered_) || (!flows_.receives.empty() && !reported_); }
  // Takes it in; never waits. REQUIRES: expecting().
  Status poll();
  bool agreed() const { return begun_ && !expecting(); }

 private:
  Rendezvous& rendezvous_;
  FlowSet& flows_;
  bool begun_ = false, answered_ = false, reported_ = false;
};

}  // namespace railweave::perf::net_perf
