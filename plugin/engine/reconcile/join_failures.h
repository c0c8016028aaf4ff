// Records why pairs of rails of a session have no lane: the last failure of each pair since its lane last came up.
//
// Pure. Threads: one at a time.
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
    std::string why;      // of the last try, for messages
    bool logged = false;  // at WARN
  };

  void failed(const RailPair& rails, std::string why, bool logged = false);
  // The pair failed by its link-local addresses. An earlier failure keeps its text, because operators know the address
  // in that text.
  void failed_by_link_local(const RailPair& rails, std::string why);
  void came_up(const RailPair& rails);
  // True: the pair failed since its lane last came up.
  bool knows(const RailPair& rails) const;
  // Return the failed pair with that rail of ours, or of the peer's, that was tried first. `likelier` pairs come before
  // others. Null: none failed.
  const Failure* of_ours(int rail, const std::vector<RailPair>& likelier = {}) const;
  const Failure* of_peers(int rail) const;

 private:
  std::vector<Failure> failures_;  // in the order of first tries
};

}  // namespace railweave::engine
