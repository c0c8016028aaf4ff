// A caller that polls may stop at any time: the process's own thread then takes over.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/clock.h"
#include "processes.h"
#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using namespace std::chrono_literals;
using collectives::DataType;
using collectives::Group;
using collectives::Reduction;

// Over streams, and on the exchange.
class PollingOver : public testing::TestWithParam<bool> {
 protected:
  static std::string late_sum(int rank, std::uint16_t port, const Process::Say& say);
};
INSTANTIATE_TEST_SUITE_P(Wires, PollingOver, testing::Bool(),
                         [](const auto& wire) { return wire.param ? "shm" : "tcp"; });

std::string PollingOver::late_sum(int rank, std::uint16_t port, const Process::Say& say) {
  auto group = join_job(
      {"job", rank, 2, 30s}, port, [&](std::uint16_t served) { say(std::to_string(served)); }, GetParam());
  if (!group.ok()) return group.status().message();
  int value = 1, out = 0;
  if (rank == 1) {
    std::this_thread::sleep_for(300ms);
    return outcome((*group)->all_reduce(&value, &out, 1, DataType::int32, Reduction::sum));
  }
  const auto work = (*group)->all_reduce(&value, &out, 1, DataType::int32, Reduction::sum);
  std::promise<void> over;
  work->when_over([&](const Status&) { over.set_value(); });
  for (const TimePoint stop = now() + 150ms; now() < stop;) (void)work->test();
  return over.get_future().wait_for(20s) == std::future_status::ready ? "sum " + std::to_string(out) : "nobody went on";
}

TEST_P(PollingOver, stopped__the_operation_goes_on_and_its_callback_comes) {
  Process first([](const Process::Say& say) { return late_sum(0, 0, say); });
  const auto port = std::uint16_t(std::stoi("0" + first.line()));
  Process second([port](const Process::Say& say) { return late_sum(1, port, say); });
  EXPECT_EQ(first.line(), "sum 2");
}

}  // namespace
}  // namespace railweave::collectives_test
