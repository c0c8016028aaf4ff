// Why pairs of rails of a session have no lane: the last failure of each since it came up last.
//
// Pure. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "engine/reconcile/lane_plan.h"

namespace railweave::engine {

class JoinFailures {
 public:
  struct Failure {
    RailPair rails;
    int tries = 0;
    std::string why;      // of the last one
    bool logged = false;  // at WARN
  };

  void failed(const RailPair& rails, std::string why, bool logged = false);
  // The pair failed by its link-local addresses. The failure before, if there was one, stays the one that people are
  // told of: they know the address that it names.
  void failed_by_link_local(const RailPair& rails, std::string why);
  void came_up(const RailPair& rails);
  // The pair failed since it came up last.
  bool knows(const RailPair& rails) const;
  // The failed pair with that rail of ours, or of the peer's, that was tried first; null: none has failed. `likelier`
  // pairs go before others.
  const Failure* of_ours(int rail, const std::vector<RailPair>& likelier = {}) const;
  const Failure* of_peers(int rail) const;

 private:
  std::vector<Failure> failures_;  // in the order of first tries
};

}  // namespace railweave::engine
