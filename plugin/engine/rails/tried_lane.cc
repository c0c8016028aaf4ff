#include "engine/rails/tried_lane.h"

#include <new>
#include <utility>

#include "base/clock.h"

namespace railweave::engine {

TriedLane::TriedLane(std::unique_ptr<wire::PendingLane> lane, std::shared_ptr<WireHistory> history, int rail,
                     const InstanceId& peer, std::string_view wire)
    : lane_(std::move(lane)), history_(std::move(history)), rail_(rail), peer_(peer), wire_(wire) {}

TriedLane::~TriedLane() {
  if (started_at_ != TimePoint::max() && now() - started_at_ >= kPatience)
    note_failure("it did not come about, and was given up");
}

Status TriedLane::complete(wire::Offer offer) {
  const Status taken = lane_->complete(std::move(offer));
  if (!taken.ok()) note_failure(taken.message());
  return taken;
}

void TriedLane::start(wire::Bootstrap bootstrap) {
  started_at_ = now();
  lane_->start(std::move(bootstrap));
}

Result<std::unique_ptr<wire::Lane>> TriedLane::poll() {
  Result<std::unique_ptr<wire::Lane>> made = lane_->poll();
  if (made.ok() && !*made) return made;
  made.ok() ? note_lane() : note_failure(made.status().message());
  started_at_ = TimePoint::max();
  return made;
}

// Without memory nothing is noted: the next dial tries the wire again.
void TriedLane::note_failure(std::string_view why) {
  try {
    history_->note_failure(now(), rail_, peer_, wire_, std::string(why));
  } catch (const std::bad_alloc&) {
  }
}

void TriedLane::note_lane() {
  try {
    history_->note_lane(now(), rail_, peer_, wire_);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace railweave::engine
