// Traffic through every version's table, between two ranks in one process and in two.
#include <gtest/gtest.h>

#include <thread>

#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"
#include "tests/nccl/rank.h"
#include "tests/nccl/scenarios.h"
#include "tests/nccl/versions.h"

namespace railweave::nccl_test {
namespace {

enum class Where { one_process, two_processes };

using Parameter = std::tuple<int, Where, std::size_t>;

class Transfer : public testing::TestWithParam<Parameter> {
 protected:
  Scenario scenario() const {
    Scenario s = standard_scenarios()[std::get<2>(GetParam())].scenario;
    s.version = std::get<0>(GetParam());
    s.optional_completion = s.optional_completion && s.version >= 9;
    return s;
  }
};

void between_threads(Net& net, const Scenario& scenario) {
  auto ends = Channel::pair();
  std::exception_ptr failed;
  std::thread other([&] {
    try {
      run_rank(net, scenario, 1, ends.second);
    } catch (...) {
      failed = std::current_exception();
      ends.second.close();
    }
  });
  try {
    run_rank(net, scenario, 0, ends.first);
  } catch (...) {
    ends.first.close();
    other.join();
    throw;
  }
  other.join();
  if (failed) std::rethrow_exception(failed);
}

void between_processes(Net& net, const Scenario& scenario) {
  Peer peer("rank_one", scenario.text());
  run_rank(net, scenario, 0, peer.channel());
  peer.expect_exit();
}

TEST_P(Transfer, every_byte_arrives_in_its_place) {
  clear_captured_log();
  const Library library(options().plugin);
  const auto net = library.net(std::get<0>(GetParam()));
  if (std::get<1>(GetParam()) == Where::one_process)
    between_threads(*net, scenario());
  else
    between_processes(*net, scenario());
  EXPECT_EQ(warnings_text(), "");
}

std::string parameter_name(const testing::TestParamInfo<Parameter>& info) {
  const auto [version, where, index] = info.param;
  return "v" + std::to_string(version) + (where == Where::one_process ? "_one_process_" : "_two_processes_") +
         standard_scenarios()[index].name;
}

INSTANTIATE_TEST_SUITE_P(, Transfer,
                         testing::Combine(all_versions(), testing::Values(Where::one_process, Where::two_processes),
                                          testing::Range<std::size_t>(0, standard_scenarios().size())),
                         parameter_name);

}  // namespace
}  // namespace railweave::nccl_test
