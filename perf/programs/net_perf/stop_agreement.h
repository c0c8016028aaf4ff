// Ends a load without a fixed length so that no receive is left over and none is missing. A sender stops posting and
// announces its final number of messages: those posted, and as many again as may be in flight, so that the receiver
// cannot have posted more. Then the sender waits for the receiver's answer and sends the rest.
#pragma once

#include "common/control_connection.h"
#include "net_perf/proxy_loop.h"

namespace railweave::perf::net_perf {

class StopAgreement {
 public:
  StopAgreement(ControlConnection& control, FlowSet& flows) : control_(control), flows_(flows) {}

  // Stops this rank's senders and announces their final numbers.
  Status begin();
  bool begun() const { return begun_; }
  // Whether a message of the other rank is due. Otherwise the next message is not for this object.
  bool expecting() const { return (!flows_.sends.empty() && !answered_) || (!flows_.receives.empty() && !reported_); }
  // Processes the messages that have arrived. Never waits. REQUIRES: expecting().
  Status poll();
  bool agreed() const { return begun_ && !expecting(); }

 private:
  ControlConnection& control_;
  FlowSet& flows_;
  bool begun_ = false, answered_ = false, reported_ = false;
};

}  // namespace railweave::perf::net_perf
