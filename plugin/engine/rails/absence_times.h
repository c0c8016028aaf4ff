// Tracks since when each rail has had no lane of a session, and which absences are due to be logged.
//
// Pure: time comes in as an argument. One thread at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "railweave/units.h"

namespace railweave::engine {

class AbsenceTimes {
 public:
  // A rail is due after `patience` without a lane, without a break.
  explicit AbsenceTimes(Nanos patience) : patience_(patience) {}

  // absent[rail]: the rail has no lane now, though it could have one. Rails beyond `absent` stay as they are.
  void see(TimePoint now, const std::vector<bool>& absent) {
    rails_.resize(std::max(rails_.size(), absent.size()));
    for (std::size_t rail = 0; rail < absent.size(); ++rail) {
      if (!absent[rail])
        rails_[rail] = {};
      else if (!rails_[rail].since)
        rails_[rail].since = now;
    }
  }
  // REQUIRES: see() has covered the rail.
  bool is_due(int rail, TimePoint now) const {
    const Rail& its = rails_[std::size_t(rail)];
    return its.since && !its.logged && *its.since + patience_ <= now;
  }
  // Marks the rail's absence as logged. The rail is not due again before it had a lane. REQUIRES: as is_due().
  void logged(int rail) { rails_[std::size_t(rail)].logged = true; }
  // When to call is_due() again: when the next rail is due, or one more patience from `now` for a rail that is due and
  // not logged. None: no rail is absent and unlogged.
  std::optional<TimePoint> next(TimePoint now) const {
    std::optional<TimePoint> next;
    for (const Rail& rail : rails_) {
      if (!rail.since || rail.logged) continue;
      const TimePoint due = *rail.since + patience_;
      const TimePoint when = due > now ? due : now + patience_;
      next = next ? std::min(*next, when) : when;
    }
    return next;
  }

 private:
  struct Rail {
    std::optional<TimePoint> since;  // none: the rail is not absent
    bool logged = false;
  };
  const Nanos patience_;
  std::vector<Rail> rails_;  // by rail
};

}  // namespace railweave::engine
