// Since when each rail has no lane of a session, and of which that is to be told now.
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
  // A rail is due when it has been absent for so long without a break.
  explicit AbsenceTimes(Nanos patience) : patience_(patience) {}

  // By rail: it has no lane now, though it could have one.
  void see(TimePoint now, const std::vector<bool>& absent) {
    rails_.resize(std::max(rails_.size(), absent.size()));
    for (std::size_t rail = 0; rail < absent.size(); ++rail) {
      if (!absent[rail])
        rails_[rail] = {};
      else if (!rails_[rail].since)
        rails_[rail].since = now;
    }
  }
  bool is_due(int rail, TimePoint now) const {
    const Rail& its = rails_[std::size_t(rail)];
    return its.since && !its.logged && *its.since + patience_ <= now;
  }
  // It is not due again before it had a lane.
  void logged(int rail) { rails_[std::size_t(rail)].logged = true; }
  // When to ask again: as soon as another rail is due, or after one more patience for a rail that is due and not told.
  // None: no rail is absent and untold.
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
    std::optional<TimePoint> since;
    bool logged = false;
  };
  const Nanos patience_;
  std::vector<Rail> rails_;
};

}  // namespace railweave::engine
