#include "collectives/exec/costs.h"

#include <gtest/gtest.h>

#include "ranks.h"

namespace railweave::collectives_test {
namespace {

using collectives::Group;
using collectives::Rendezvous;

TEST(Costs, are_known_for_ranks_that_lie_on_hosts_in_the_same_way) {
  Ranks ranks(3);
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(ranks.store_folder()));
  // Returns what rank 0 publishes for `layout`: known costs, or that they are to be measured.
  const auto published = [&](const std::string& name, const std::vector<int>& layout) {
    ranks.run([&](int rank, Group& group) {
      Rendezvous place(store, {name, rank, group.size(), std::chrono::seconds(20)});
      const auto costs = collectives::agree_on_costs(group, place, layout);
      EXPECT_TRUE(costs.ok()) << costs.status().message();
    });
    return *store->get(name + "/costs-known", Nanos(0));
  };
  EXPECT_EQ(published("first", {0, 1, 1}), "measure");
  EXPECT_EQ(published("other", {0, 0, 1}), "measure");
  EXPECT_NE(published("again", {0, 1, 1}), "measure");
}

// agree_on_costs() measures with memory of its own, so its operations must be over before it returns.
TEST(Costs, agree_on_costs__leaves_no_operation_behind_on_timeout) {
  using namespace std::chrono_literals;
  Ranks ranks(2);
  std::shared_ptr<collectives::Store> store = std::move(*collectives::file_store(ranks.store_folder()));
  Rendezvous place(store, {"alone", 0, 2, 20s});
  const auto costs = collectives::agree_on_costs(ranks.group(0), place, {7, 7}, 200ms);
  ASSERT_FALSE(costs.ok());
  EXPECT_NE(costs.status().message().find("waits for rank 1"), std::string::npos) << costs.status().message();
  EXPECT_NE(outcome(ranks.group(0).barrier(), 5s).find("waits for rank 1"), std::string::npos);
}

}  // namespace
}  // namespace railweave::collectives_test
