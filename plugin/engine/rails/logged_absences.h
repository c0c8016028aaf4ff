// Bounds an engine's log lines about rails without a lane: one for each rail of ours, and one for each of the first few
// rails of peers.
//
// Threads: one at a time.
#pragma once

#include <cstdint>

namespace railweave::engine {

class LoggedAbsences {
 public:
  // True at the first call for each rail (0 to 63).
  bool may_log_ours(int rail);
  // True at the first kPeersMost calls.
  bool may_log_peers();

 private:
  static constexpr int kPeersMost = 4;
  std::uint64_t ours_ = 0;  // bit `rail`: logged
  int peers_ = 0;           // lines logged
};

}  // namespace railweave::engine
