#include "wire/sim/network.h"

#include <algorithm>

#include "wire/sim/connection.h"

namespace railweave::wire {

SimLink& SimNetwork::add_link(const LinkSpec& spec) {
  links_.push_back(std::make_unique<SimLink>(*this, spec));
  return *links_.back();
}

std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> SimNetwork::connect(SimLink& link) {
  return connect(link, link);
}

std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> SimNetwork::connect(SimLink& first, SimLink& second) {
  auto connection = SimConnection::make(*this, first, second, lanes_++);
  return {std::make_unique<SimLane>(connection, 0), std::make_unique<SimLane>(connection, 1)};
}

std::pair<std::unique_ptr<SimLane>, std::unique_ptr<SimLane>> SimNetwork::connect(const LinkSpec& spec) {
  return connect(add_link(spec));
}

void SimNetwork::at(TimePoint when, std::function<void()> what) {
  events_.push({std::max(when, now_), events_added_++, std::move(what)});
}

bool SimNetwork::step() {
  if (events_.empty()) return false;
  now_ = events_.top().when;
  const auto what = std::move(const_cast<Event&>(events_.top()).what);  // pop() needs the key only
  events_.pop();
  what();
  return true;
}

void SimNetwork::run_until(TimePoint end) {
  while (!events_.empty() && events_.top().when <= end) step();
  now_ = std::max(now_, end);
}

bool SimNetwork::run_while_not(const std::function<bool()>& done, TimePoint limit) {
  while (!done()) {
    if (events_.empty() || events_.top().when > limit) return false;
    step();
  }
  return true;
}

}  // namespace railweave::wire
