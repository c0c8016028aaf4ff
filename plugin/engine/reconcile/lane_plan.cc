#include "engine/reconcile/lane_plan.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdlib>
#include <utility>

#include "wire/bootstrap/address.h"

namespace railweave::engine {

namespace {

// The rank of a route; the smaller rank is better.
struct RouteRank {
  bool avoided = false, link_local = false, far = false;
  friend auto operator<=>(const RouteRank&, const RouteRank&) = default;
};

constexpr double kBytesPerLane = 25e9 / 8;

}  // namespace

bool best_route(const Rail& local, const PeerRail& remote, Route& route, std::optional<Address::Family> avoid) {
  std::optional<RouteRank> best;
  for (const Address& source : local.addresses) {
    for (const PeerAddress& target : remote.addresses) {
      if (source.family != target.address.family || target.port == 0) continue;
      const bool link_local = discovery::is_link_local(target.address);
      if (source.family == Address::Family::v6 && link_local != discovery::is_link_local(source)) continue;
      // A host-sized prefix (an address of a handle) says nothing about the peer's subnet: our prefix decides.
      Address theirs = target.address;
      theirs.prefix_bits = std::max(theirs.prefix_bits, source.prefix_bits);
      const bool near = same_subnet(source, theirs);
      const RouteRank rank{source.family == avoid, link_local, !near};
      if (best && *best <= rank) continue;
      best = rank;
      route = {source, target, near};
    }
  }
  return best.has_value();
}

int lanes_per_pair(int lanes_per_rail, const Rail& local, const PeerRail& remote) {
  if (lanes_per_rail > 0) return lanes_per_rail;
  const double slower = std::min(local.speed.bytes_per_s, Rate::from_megabits(remote.speed_mbps).bytes_per_s);
  return std::clamp(std::max(int(std::ceil(slower / kBytesPerLane)), local.lanes_min), 1, 16);
}

std::vector<RailPair> candidate_pairs(const std::vector<Rail>& local, const std::vector<PeerRail>& remote) {
  struct Scored {
    int score;
    RailPair pair;
  };
  std::vector<Scored> scored;
  for (int l = 0; l < int(local.size()); ++l) {
    for (int r = 0; r < int(remote.size()); ++r) {
      Route route;
      if (!best_route(local[l], remote[r], route)) continue;
      const bool aligned = l % int(remote.size()) == r || r % int(local.size()) == l;
      scored.push_back({(route.same_subnet ? 0 : 2) + (aligned ? 0 : 1), {l, r}});
    }
  }
  std::ranges::stable_sort(scored, {}, &Scored::score);
  std::vector<RailPair> pairs;
  for (const Scored& s : scored) pairs.push_back(s.pair);
  return pairs;
}

std::vector<RailPair> spread_pairs(std::vector<RailPair> candidates, int local_rails, int remote_rails) {
  const int n = std::max(local_rails, remote_rails);
  std::ranges::stable_sort(
      candidates, {}, [&](const RailPair& pair) { return std::pair((pair.remote - pair.local + n) % n, pair.local); });
  return candidates;
}

std::vector<RailPair> ways_of_round(const std::vector<RailPair>& near, const std::vector<RailPair>& far, int rails,
                                    int addresses, int round, std::size_t most) {
  std::vector<RailPair> ways = spread_pairs(near, rails, addresses);
  const std::vector<RailPair> others = spread_pairs(far, rails, addresses);
  ways.insert(ways.end(), others.begin(), others.end());
  if (ways.size() <= most) return ways;
  std::rotate(ways.begin(), ways.begin() + std::ptrdiff_t(std::size_t(round - 1) * most % ways.size()), ways.end());
  ways.resize(most);
  return ways;
}

std::vector<RailPair> choose_pairs(const std::vector<RailPair>& candidates, std::vector<RailPair> chosen,
                                   int local_rails, int remote_rails) {
  std::vector<int> uses_local(local_rails), uses_remote(remote_rails);
  for (const RailPair& p : chosen) ++uses_local[p.local], ++uses_remote[p.remote];
  // Pairs of two unused rails come first, then an unused rail with the least used partner.
  for (int partner_uses = 0; partner_uses < local_rails + remote_rails; ++partner_uses) {
    for (const RailPair& p : candidates) {
      const int less = std::min(uses_local[p.local], uses_remote[p.remote]);
      const int more = std::max(uses_local[p.local], uses_remote[p.remote]);
      if (less > 0 || more != partner_uses) continue;
      chosen.push_back(p);
      ++uses_local[p.local], ++uses_remote[p.remote];
    }
  }
  return chosen;
}

std::string state_of(const PeerRail& rail) {
  if (rail.link_down) return "link down";
  std::string addresses;
  for (const PeerAddress& a : rail.addresses)
    addresses += (addresses.empty() ? "" : ", ") + wire::to_string(wire::socket_address(a.address, a.port));
  return "link up, " + (addresses.empty() ? "no address" : "addresses " + addresses);
}

std::string route_text(const Rail& from, const Route& route) {
  return from.name + " to " + wire::to_string(wire::socket_address(route.target.address, route.target.port));
}

}  // namespace railweave::engine
