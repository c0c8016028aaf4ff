#include "engine/connect/dial.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

TEST(Dial, take_waiters__a_waiter_that_gave_up_is_not_among_them) {
  Reactor reactor;
  const Config config;
  Identity self;
  self.config = &config;
  Dial dial(reactor, self, {}, 0, {});
  const auto stream = [] {
    return std::make_shared<PendingStream>(HandleContent{}, 0, 1, Priority::normal, TimePoint::max());
  };
  const auto patient = stream(), gone = stream();
  dial.add_waiter(gone);
  dial.add_waiter(patient);
  gone->give_up();
  EXPECT_EQ(std::vector{patient}, dial.take_waiters());
}

}  // namespace
}  // namespace railweave::engine
