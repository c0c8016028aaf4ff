// Chooses the address family by which each pair of rails is dialled next. best_route() chooses the first one. After a
// try that failed, or arrived at another rail than the one dialled, the family of that try is avoided. (ARP mixes up
// the NICs of a host on one switch.) A family is doubtful for a pair whose lanes all came by the other family.
//
// Pure. Threads: one at a time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/reconcile/lane_plan.h"

namespace railweave::engine {

class FamilyChoice {
 public:
  // Returns the family for best_route() to avoid; none: neither.
  std::optional<Address::Family> avoided(const RailPair& pair) const;
  // The last try, by this family, failed or arrived at another rail.
  void failed(const RailPair& pair, Address::Family by);
  // A lane came up by this family.
  void came_up(const RailPair& pair, Address::Family by);
  bool is_doubtful(const RailPair& pair, Address::Family family) const;
  // Forgets all of the pairs whose links or addresses changed.
  void forget(const std::function<bool(const RailPair&)>& which);

 private:
  struct Of {
    RailPair pair;
    Address::Family family;
    friend bool operator==(const Of&, const Of&) = default;
  };
  std::vector<Of> avoided_;  // one for each pair
  std::vector<Of> carried_;
};

}  // namespace railweave::engine
