#include "engine/session/shared_protocol.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "engine/api/request.h"

namespace railweave::engine {

SharedProtocol::SharedProtocol(const protocol::SessionOptions& options, const Clock& clock)
    : clock_(clock), protocol_(options) {
  events_.reserve(64);
}

void SharedProtocol::take_posts() {
  if (ready_.empty()) return;
  // If a post finds no memory, puts the inboxes that are left back into ready_.
  struct Rest {
    ReadySet& ready;
    ReadyNode* node;
    Inbox* current = nullptr;
    ~Rest() {
      if (current) ready.add(*current);
      while (node != nullptr) {
        ReadyNode& left = *node;
        node = ReadySet::release(left);
        ready.add(left);
      }
    }
  } rest{ready_, ready_.take_all()};
  while (rest.node != nullptr) {
    Inbox& inbox = static_cast<Inbox&>(*rest.node);
    rest.node = ReadySet::release(inbox);
    rest.current = &inbox;
    if (!inbox.drain(protocol_)) ready_.add(inbox);
    rest.current = nullptr;
  }
  publish();
}

void SharedProtocol::publish() {
  for (protocol::Completion& c : protocol_.completions()) {
    Request& request = *static_cast<Request*>(c.request);
    assert(request.state.load(std::memory_order_relaxed) == Request::State::posted);  // a request ends only once
    late_failure_ |= is_over() && !c.status.ok();
    request.bytes = c.bytes;
    request.tag = c.tag;
    request.status = std::move(c.status);
    request.state.store(Request::State::done, std::memory_order_release);
  }
  protocol_.completions().clear();
  may_write_.store(protocol_.has_data() || protocol_.has_control() || protocol_.has_lazy(), std::memory_order_relaxed);
  metrics_.send_streams.set(protocol_.send_streams());
  metrics_.recv_streams.set(protocol_.recv_streams());
  metrics_.control_frames.set(protocol_.control_frames());
  metrics_.control_frames_retransmitted.set(protocol_.control_frames_retransmitted());
  if (protocol_.events().empty()) return;
  const std::size_t events = events_.size() + protocol_.events().size();
  if (events > events_.capacity()) events_.reserve(2 * events);  // may throw: before the move, so none comes twice
  std::ranges::move(protocol_.events(), std::back_inserter(events_));
  protocol_.events().clear();
  has_events_.store(true, std::memory_order_relaxed);
}

std::vector<protocol::Event> SharedProtocol::take_events() {
  std::vector<protocol::Event> events;
  const MutexLock locked(mutex_);
  events.swap(events_);
  has_events_.store(false, std::memory_order_relaxed);
  return events;
}

bool SharedProtocol::has_work() {
  if (has_posts()) return true;
  const Locked locked = lock();
  return locked->has_data() || locked->has_control() || locked->has_lazy();
}

bool SharedProtocol::is_without_lanes() { return lock()->live_lanes() == 0; }

void SharedProtocol::Locked::say_goodbye() const {
  shared_.mutex_.assert_held();
  shared_.leaving_ = true;
  shared_.protocol_.say_goodbye();
  publish();
}

void SharedProtocol::Locked::fail(const Status& why) const {
  shared_.mutex_.assert_held();
  shared_.protocol_.fail(why);
  publish();
  shared_.over_.store(true, std::memory_order_release);
}

}  // namespace railweave::engine
