#include "engine/rails/wire_failures.h"

#include <algorithm>

namespace railweave::engine {

void WireFailures::note(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) {
  std::erase_if(failed_at_, [&](const auto& entry) { return now - entry.second >= kLeftOut; });
  if (failed_at_.size() >= kEntriesMax)
    failed_at_.erase(std::ranges::min_element(failed_at_, {}, [](const auto& entry) { return entry.second; }));
  failed_at_[{peer, rail, std::string(wire)}] = now;
}

bool WireFailures::is_left_out(TimePoint now, int rail, const InstanceId& peer, std::string_view wire) const {
  const auto found = failed_at_.find({peer, rail, std::string(wire)});
  return found != failed_at_.end() && now - found->second < kLeftOut;
}

}  // namespace railweave::engine
