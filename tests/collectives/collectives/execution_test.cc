// Schedules of many ranks, run by the executor over a network without one: every algorithm, seeded, ranks that are fast and
// slow, several operations at once. tests/collectives/schedule proves the schedules; here it is the executor's turn.
#include "collectives/execution.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "collectives/links.h"
#include "collectives/plan.h"
#include "collectives/schedule/algorithm.h"
#include "fake_network.h"

namespace railweave::collectives_test {
namespace {

using namespace collectives;

// The ranks of one job, each with its links and the operations it runs.
class Job {
 public:
  Job(int ranks, std::uint64_t seed) : network_(seed), random_(seed), seed_(seed) {
    std::vector<Handle> handles(static_cast<std::size_t>(ranks));
    std::vector<std::shared_ptr<Engine>> engines;
    std::vector<std::unique_ptr<Listener>> listeners;
    for (Handle& handle : handles) {
      engines.push_back(network_.engine());
      listeners.push_back(std::move(*engines.back()->listen(0, handle)));
    }
    for (int r = 0; r < ranks; ++r) links_.push_back(std::make_unique<Links>(engines[std::size_t(r)], r, handles, std::move(listeners[std::size_t(r)])));
    laziness_.resize(std::size_t(ranks));
    for (int& lazy : laziness_) lazy = 1 + int(random_() % 8);
  }
  int ranks() const { return int(links_.size()); }

  // All-to-all of numbers that say who sends them to whom; checked by finish().
  void add(const Algorithm& algorithm, std::size_t count, int channel) {
    for (int r = 0; r < ranks(); ++r) {
      auto part = std::make_unique<Part>();
      Problem& p = part->problem;
      p.operation = algorithm.operation;
      p.ranks = ranks();
      p.rank = r;
      p.root = int(seed_ % std::uint64_t(ranks()));
      p.element_bytes = p.partial_bytes = sizeof(std::int64_t);
      p.chunk_bytes = 4096;
      const bool each = p.operation == Operation::all_gather || p.operation == Operation::reduce_scatter || p.operation == Operation::all_to_all ||
                        p.operation == Operation::gather || p.operation == Operation::scatter;
      if (p.operation != Operation::barrier) p.counts.assign(each ? std::size_t(ranks()) : 1, count);
      if (p.operation == Operation::all_to_all) p.receive_counts = p.counts;
      p.uniform = true;
      for (int other = 0; other < ranks(); ++other) p.host_of.push_back(other / 4);
      if (!algorithm.fits(p)) return;
      const std::size_t all = count * std::size_t(ranks());
      part->input.resize(all + 1);
      part->output.assign(all + 1, -1);
      for (std::size_t i = 0; i < all; ++i) part->input[i] = value(r, i);
      auto plan = std::make_shared<const Plan>(algorithm.build(p));
      part->scratch.resize(plan->schedule().scratch_bytes / 8 + 16);
      const Execution::Memory memory{reinterpret_cast<const std::byte*>(part->input.data()), reinterpret_cast<std::byte*>(part->output.data()),
                                     reinterpret_cast<std::byte*>(part->scratch.data())};
      const Reducing how{DataType::int64, Reduction::sum, ranks(), 1};
      part->execution = std::make_unique<Execution>(plan, memory, how, *links_[std::size_t(r)], channel, Class::normal);
      parts_.push_back(std::move(part));
    }
    ++operations_;
  }

  // Drives whoever happens to be awake until all is done, then checks the data. "" or what went wrong.
  std::string finish() {
    std::size_t left = parts_.size();
    for (std::uint64_t still = 0; left > 0; network_.step()) {
      bool moved = false;
      for (auto& links : links_)
        if (Status s = links->advance(); !s.ok()) return s.message();
      for (auto& part : parts_) {
        if (!part->execution || random_() % std::uint64_t(laziness_[std::size_t(part->problem.rank)]) != 0) continue;
        auto did = part->execution->advance();
        if (!did.ok()) return did.status().message();
        moved |= *did;
        if (!part->execution->done()) continue;
        part->execution.reset();
        --left;
      }
      still = moved ? 0 : still + 1;
      if (still > 5000) return std::to_string(left) + " of " + std::to_string(parts_.size()) + " ranks' parts stand still";
    }
    for (auto& part : parts_)
      if (const std::string wrong = check(*part); !wrong.empty()) return wrong;
    parts_.clear();
    return "";
  }

 private:
  struct Part {
    Problem problem;
    std::vector<std::int64_t> input, output, scratch;
    std::unique_ptr<Execution> execution;
  };

  static std::int64_t value(int r, std::size_t i) { return std::int64_t(r) * 1'000'003 + std::int64_t(i) * 7; }
  std::int64_t sum(std::size_t i) const {
    std::int64_t total = 0;
    for (int r = 0; r < ranks(); ++r) total += value(r, i);
    return total;
  }

  std::string check(const Part& part) const {
    const Problem& p = part.problem;
    const std::size_t n = p.counts.empty() ? 0 : p.counts[0], own = std::size_t(p.rank) * n;
    const bool root = p.rank == p.root;
    const auto expect = [&](std::size_t from, std::size_t count, auto should_be) -> std::string {
      for (std::size_t i = 0; i < count; ++i)
        if (part.output[from + i] != should_be(i))
          return "operation " + std::to_string(int(p.operation)) + ", rank " + std::to_string(p.rank) + ": element " + std::to_string(from + i);
      return "";
    };
    std::string wrong;
    std::size_t written = 0;
    const auto rows = [&](std::size_t from) {
      for (int r = 0; r < ranks() && wrong.empty(); ++r)
        wrong = expect(std::size_t(r) * n, n, [&](std::size_t i) { return value(r, from + i); });
      written = n * std::size_t(ranks());
    };
    const auto one = [&](auto should_be) {
      wrong = expect(0, n, should_be);
      written = n;
    };
    switch (p.operation) {
      case Operation::all_gather: rows(0); break;
      case Operation::all_to_all: rows(own); break;
      case Operation::gather: if (root) rows(0); break;
      case Operation::all_reduce: one([&](std::size_t i) { return sum(i); }); break;
      case Operation::reduce: if (root) one([&](std::size_t i) { return sum(i); }); break;
      case Operation::reduce_scatter: one([&](std::size_t i) { return sum(own + i); }); break;
      case Operation::broadcast: one([&](std::size_t i) { return value(p.root, i); }); break;
      case Operation::scatter: one([&](std::size_t i) { return value(p.root, own + i); }); break;
      case Operation::barrier: break;
    }
    return wrong.empty() ? expect(written, part.output.size() - written, [](std::size_t) { return -1; }) : wrong;
  }

  FakeNetwork network_;
  std::mt19937_64 random_;
  const std::uint64_t seed_;
  std::vector<std::unique_ptr<Links>> links_;
  std::vector<int> laziness_;              // by rank: it moves once in so many turns
  std::vector<std::unique_ptr<Part>> parts_;
  int operations_ = 0;
};

TEST(Execution, every_algorithm__several_at_once_among_ranks_of_all_speeds) {
  for (const int ranks : {2, 3, 5, 8, 13, 32}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Job job(ranks, seed);
      int channel = 0;
      for (const Algorithm& a : algorithms())
        for (const std::size_t count : {1, 37, 1500}) job.add(a, count, channel++ % 3);
      ASSERT_EQ(job.finish(), "") << ranks << " ranks, seed " << seed;
    }
  }
}

TEST(Execution, hundreds_of_ranks) {
  for (const int ranks : {128}) {
    Job job(ranks, std::uint64_t(ranks));
    int channel = 0;
    for (const Algorithm& a : algorithms()) {
      if (a.operation == Operation::all_to_all || a.name == "one_shot") continue;  // 40 000 messages each: the small jobs have them
      job.add(a, 3, channel++ % 2);
    }
    ASSERT_EQ(job.finish(), "") << ranks << " ranks";
  }
}

}  // namespace
}  // namespace railweave::collectives_test
