// RailPairsTest: RailPairs with simulated lanes, which come up and are lost as the test decides.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/reconcile/rail_pairs.h"

namespace railweave::engine {

// Makes all rails reach each other. Pairs of equal numbers come first.
class RailPairsTest : public testing::Test {
 protected:
  void know(int local_rails, int remote_rails, int lanes_each) {
    std::vector<RailPairs::Candidate> candidates;
    for (int apart = 0; apart < std::max(local_rails, remote_rails); ++apart)
      for (int l = 0; l < local_rails; ++l)
        for (int r = 0; r < remote_rails; ++r)
          if (std::abs(l - r) == apart) candidates.push_back({{l, r}, lanes_each});
    pairs_.know(candidates, local_rails, remote_rails);
  }
  void begin() {
    pairs_.begin({0, 0}, t_);
    open_ = {{0, 0}};
  }
  void try_all(const std::vector<RailPairs::Due>& due, const std::function<bool(const RailPair&)>& comes_up) {
    for (const auto& one : due) pairs_.try_began(*one.pair, t_);
    for (const auto& one : due) {
      pairs_.try_ended(*one.pair, t_);
      if (comes_up(one.pair->rails)) {
        pairs_.came_up(*one.pair, t_);
        open_.push_back(one.pair->rails);
      } else {
        pairs_.failed(*one.pair, t_);
      }
    }
  }
  void fail(const RailPair& rails) {
    pairs_.try_began(*pairs_.find(rails), t_);
    pairs_.try_ended(*pairs_.find(rails), t_);
    pairs_.failed(*pairs_.find(rails), t_);
  }
  void lose(const RailPair& rails) {
    std::erase(open_, rails);
    poll();
  }
  void poll() { pairs_.see_lanes(open_, {}, t_); }
  void settle() {
    for (int i = 0; i < 3; ++i) try_all(pairs_.due(t_), [](const RailPair&) { return true; });
  }
  int lanes_of(const RailPair& rails) const { return int(std::ranges::count(open_, rails)); }
  static std::string told(const std::vector<RailPairs::Due>& due) {
    std::string text;
    for (const auto& one : due)
      text += std::to_string(one.pair->rails.local) + "-" + std::to_string(one.pair->rails.remote) + " ";
    return text;
  }

  std::set<int> links_down_, peers_links_down_;
  int named_ = 0;
  std::function<int()> chance_ = [] { return 0; };
  const RailPairs::Hooks hooks_{.has_link = [this](int rail) { return !links_down_.contains(rail); },
                                .peer_has_link = [this](int rail) { return !peers_links_down_.contains(rail); },
                                .jitter = [this] { return chance_(); },
                                .long_backoff = [this](const RailPairs::Pair&) { ++named_; }};
  RailPairs pairs_{hooks_};
  std::vector<RailPair> open_;
  int places_ = kPlacesMax;
  TimePoint t_{std::chrono::hours(1)};
};

}  // namespace railweave::engine
