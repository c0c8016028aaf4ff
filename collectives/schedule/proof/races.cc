#include "collectives/schedule/proof/races.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/schedule/memory.h"

namespace railweave::collectives::proof {
namespace {

// For each step, the set of steps that are done before the step begins.
class Order {
 public:
  explicit Order(const Schedule& schedule)
      : words_((schedule.steps.size() + 63) / 64), before_(schedule.steps.size() * words_, 0) {
    for (std::size_t id = 0; id < schedule.steps.size(); ++id)
      for (std::uint32_t i = schedule.steps[id].after_begin; i < schedule.steps[id].after_end; ++i)
        add(id, schedule.after[i]);
  }
  bool is_before(std::size_t earlier, std::size_t later) const {
    return (before_[later * words_ + earlier / 64] >> (earlier % 64)) & 1;
  }

 private:
  void add(std::size_t id, std::size_t earlier) {
    const std::size_t words = earlier / 64 + 1;  // a step depends on earlier steps only
    for (std::size_t w = 0; w < words; ++w) before_[id * words_ + w] |= before_[earlier * words_ + w];
    before_[id * words_ + earlier / 64] |= std::uint64_t{1} << (earlier % 64);
  }

  std::size_t words_;
  std::vector<std::uint64_t> before_;
};

struct Access {
  Extent extent;
  std::size_t step;
  bool writes;
};

std::vector<Access> accesses(const Problem& problem, const Schedule& schedule) {
  std::vector<Access> all;
  const auto add = [&](const Piece& piece, std::size_t step, bool writes) {
    if (piece.count > 0) all.push_back({extent(problem, piece), step, writes});
  };
  for (std::size_t id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    if (step.kind == Step::Kind::send || step.kind == Step::Kind::copy) add(step.from, id, false);
    if (step.kind != Step::Kind::send) add(step.to, id, true);
    for (std::uint32_t i = step.operands_begin; i < step.operands_end; ++i) add(schedule.operands[i], id, false);
  }
  return all;
}

bool in_order_of_memory(const Access& a, const Access& b) {
  return a.extent.place != b.extent.place ? a.extent.place < b.extent.place : a.extent.begin < b.extent.begin;
}

}  // namespace

Status check_races(const Problem& problem, const Schedule& schedule) {
  const Order order(schedule);
  std::vector<Access> all = accesses(problem, schedule);
  std::sort(all.begin(), all.end(), in_order_of_memory);
  std::vector<const Access*> open;  // accesses that reach to access.extent.begin, and maybe farther
  for (const Access& access : all) {
    std::erase_if(open, [&](const Access* one) {
      return one->extent.place != access.extent.place || one->extent.end <= access.extent.begin;
    });
    for (const Access* one : open) {
      if (!(one->writes || access.writes) || one->step == access.step) continue;
      const std::size_t earlier = std::min(one->step, access.step), later = std::max(one->step, access.step);
      if (!order.is_before(earlier, later))
        return wrong(problem, schedule, later,
                     "touches memory of " + describe(problem, schedule, earlier) + " and does not wait for it");
    }
    open.push_back(&access);
  }
  return {};
}

}  // namespace railweave::collectives::proof
