// Which pairs of rails get lanes (decision D2): the fewest that cover every usable rail of both sides. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "discovery/address_choice.h"
#include "engine/connect/hello.h"
#include "railweave/device.h"

namespace railweave::engine {

inline constexpr int kLanesMax = 64;  // of a session, as planned
// with those that need room when others have filled theirs (RailPairs), and that are tried in silence
inline constexpr int kPlacesMax = 80;

struct RailPair {
  int local = 0, remote = 0;  // indices into the two lists
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

// A pair with lanes to retire: all but the oldest `keep` of them.
struct Surplus {
  RailPair rails;
  int keep = 0;
  friend bool operator==(const Surplus&, const Surplus&) = default;
};

// One end of a lane to be: addresses of one family, of the same subnet where there is such a choice.
struct Route {
  Address source;
  PeerAddress target;
  bool same_subnet = false;
};

using discovery::same_subnet;

// Best route between two rails; false when they share no address family. Link-local addresses serve where there are no
// others. `avoid`: a family that is taken only where there is no route by the other.
bool best_route(const Rail& local, const PeerRail& remote, Route& route, std::optional<Address::Family> avoid = {});

// How many lanes one pair of rails gets: `lanes_per_rail` (RAILWEAVE_LANES_PER_RAIL), or, where that is 0, by the speed
// of both.
int lanes_per_pair(int lanes_per_rail, const Rail& local, const PeerRail& remote);

// Every pair that could carry a lane, best first: same subnet, then rails of equal index. Each side's first rails come
// first, so that the order is the same whoever computes it.
std::vector<RailPair> candidate_pairs(const std::vector<Rail>& local, const std::vector<PeerRail>& remote);

// The same pairs diagonal by diagonal, on each of which no rail comes twice: where some rails are dead and it is not
// known which, one that leads somewhere comes soon.
std::vector<RailPair> spread_pairs(std::vector<RailPair> candidates, int local_rails, int remote_rails);

// Ways to reach a peer in round `round` (from 1 on): pairs of one of our rails and one of the peer's addresses, at most
// `most`. Near ways come first, and both kinds are in the order of spread_pairs(). A later round begins where the one
// before ended.
std::vector<RailPair> ways_of_round(const std::vector<RailPair>& near, const std::vector<RailPair>& far, int rails,
                                    int addresses, int round, std::size_t most);

// Out of `candidates` (those that failed before left out): adds to `chosen` until both sides' rails are covered as far
// as that is possible. Each rail of the larger side is used once, those of the smaller side evenly.
std::vector<RailPair> choose_pairs(const std::vector<RailPair>& candidates, std::vector<RailPair> chosen,
                                   int local_rails, int remote_rails);

// --- for messages
// "link down" or "link up, addresses 10.0.0.2:4000, [fe80::2]:4001".
std::string state_of(const PeerRail& rail);
// "eth0 to 10.0.0.2:4000".
std::string told_way(const Rail& from, const Route& route);

}  // namespace railweave::engine
