// By which address family each pair of rails is dialled next. best_route() chooses at first. After a try that failed,
// or that arrived at another rail than was dialled (ARP mixes up the NICs of a host on one switch), the family of that
// try is avoided. A family is doubtful for a pair whose lanes all came by the other one.
//
// Pure. One thread at a time.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/reconcile/lane_plan.h"

namespace railweave::engine {

class FamilyChoice {
 public:
  // For best_route().
  std::optional<Address::Family> avoided(const RailPair& pair) const;
  // The last try, by this family, came to nothing or to another rail.
  void failed(const RailPair& pair, Address::Family by);
  // A lane came up by this family.
  void came_up(const RailPair& pair, Address::Family by);
  bool is_doubtful(const RailPair& pair, Address::Family family) const;
  // Links or addresses of these pairs changed: all begin anew.
  void forget(const std::function<bool(const RailPair&)>& which);

 private:
  struct Of {
    RailPair pair;
    Address::Family family;
    friend bool operator==(const Of&, const Of&) = default;
  };
  std::vector<Of> avoided_;  // one of a pair
  std::vector<Of> carried_;
};

}  // namespace railweave::engine
