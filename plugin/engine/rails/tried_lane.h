// A pending lane of a wire that both ends have. Notes in WireHistory what comes of it.
// Threads: the reactor's only.
#pragma once

#include <memory>
#include <string>

#include "engine/rails/wire_history.h"
#include "wire/port.h"

namespace railweave::engine {

class TriedLane final : public wire::PendingLane {
 public:
  // `rail`, `peer`, `wire`: as in WireHistory.
  TriedLane(std::unique_ptr<wire::PendingLane> lane, std::shared_ptr<WireHistory> history, int rail,
            const InstanceId& peer, std::string_view wire);
  // A lane that was pending for kPatience and is given up counts as a failure. One given up sooner may have ended for a
  // reason that has nothing to do with its wire.
  ~TriedLane() override;

  Result<wire::Offer> offer() override { return lane_->offer(); }
  // An offer that this end cannot take counts as a failure of the wire.
  Status complete(wire::Offer offer) override;
  void start(wire::Bootstrap bootstrap) override;
  Result<std::unique_ptr<wire::Lane>> poll() override;

 private:
  static constexpr Nanos kPatience = std::chrono::seconds(1);

  void note_failure(std::string_view why);
  void note_lane();

  const std::unique_ptr<wire::PendingLane> lane_;
  const std::shared_ptr<WireHistory> history_;
  const int rail_;
  const InstanceId peer_;
  const std::string wire_;
  TimePoint started_at_ = TimePoint::max();  // max(): not started, or over
};

}  // namespace railweave::engine
