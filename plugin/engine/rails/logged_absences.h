// Which lines about rails without a lane an engine has logged: one for each rail of ours, and for the first few rails
// of peers.
//
// One thread at a time.
#pragma once

#include <cstdint>

namespace railweave::engine {

class LoggedAbsences {
 public:
  // True the first time for each rail.
  bool may_log_ours(int rail);
  // True the first four times.
  bool may_log_peers();

 private:
  static constexpr int kPeersMost = 4;
  std::uint64_t ours_ = 0;  // bits of our rails
  int peers_ = 0;
};

}  // namespace railweave::engine
