// Chooses the pairs of rails that get lanes (decision D2): the fewest that cover every usable rail of both sides. Pure
// functions. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "discovery/address_choice.h"
#include "engine/connect/hello.h"
#include "railweave/device.h"

namespace railweave::engine {

inline constexpr int kLanesMax = 64;  // lanes of a session, as planned
// lanes of a session, including lanes that find room when others have filled theirs (RailPairs) or in silence
inline constexpr int kPlacesMax = 80;

struct RailPair {
  int local = 0, remote = 0;  // indices into our rails and the peer's rails
  friend bool operator==(const RailPair&, const RailPair&) = default;
};

// A pair with too many lanes: all but the oldest `keep` are to retire. `keep` is 0 if the primary pairs of both rails
// carry again.
struct Surplus {
  RailPair rails;
  int keep = 0;
  std::string first_wire = {};  // lanes of this wire retire before others; empty: none do
  friend bool operator==(const Surplus&, const Surplus&) = default;
};

// The addresses of a lane to be dialled: of one family, and of the same subnet where there is a choice.
struct Route {
  Address source;
  PeerAddress target;
  bool same_subnet = false;
};

using discovery::same_subnet;

// Finds the best route between two rails. False: the rails share no address family. Link-local addresses are used where
// there are no others. `avoid`: a family that is used only where the other family has no route.
bool best_route(const Rail& local, const PeerRail& remote, Route& route, std::optional<Address::Family> avoid = {});

// Returns how many lanes one pair of rails gets. `lanes_per_rail`: RAILWEAVE_LANES_PER_RAIL; 0: by the speed of both
// rails.
int lanes_per_pair(int lanes_per_rail, const Rail& local, const PeerRail& remote);

// Returns every pair that could carry a lane, best first: same subnet, then rails of equal index. Each side's first
// rails come first, so that both sides compute the same order.
std::vector<RailPair> candidate_pairs(const std::vector<Rail>& local, const std::vector<PeerRail>& remote);

// Returns the same pairs diagonal by diagonal; no rail comes twice on a diagonal. If some unknown rails are dead, a
// pair that works comes soon.
std::vector<RailPair> spread_pairs(std::vector<RailPair> candidates, int local_rails, int remote_rails);

// Returns ways to reach a peer in round `round` (from 1 on): pairs of one of our rails and one of the peer's addresses,
// at most `most`. Near ways come first, and both kinds are in the order of spread_pairs(). A later round begins where
// the one before ended.
std::vector<RailPair> ways_of_round(const std::vector<RailPair>& near, const std::vector<RailPair>& far, int rails,
                                    int addresses, int round, std::size_t most);

// Returns `chosen` with pairs of `candidates` added until both sides' rails are covered as far as possible. The caller
// leaves out pairs that failed before. Each rail of the larger side is used once, those of the smaller side evenly.
std::vector<RailPair> choose_pairs(const std::vector<RailPair>& candidates, std::vector<RailPair> chosen,
                                   int local_rails, int remote_rails);

// --- for messages
// Returns "link down" or "link up, addresses 10.0.0.2:4000, [fe80::2]:4001".
std::string state_of(const PeerRail& rail);
// Returns "eth0 to 10.0.0.2:4000".
std::string route_text(const Rail& from, const Route& route);

}  // namespace railweave::engine
