// Finds kernel settings that hurt several IPv4 rails of one host: one rail answers ARP for another rail, or drops
// packets because the route back leads by another rail. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "discovery/host_settings.h"
#include "railweave/device.h"

namespace railweave::discovery {

// Commands that remove the hazards, for messages. Both change the setting for every interface.
inline constexpr char kMendArp[] = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2";
inline constexpr char kMendReversePath[] = "sysctl -w net.ipv4.conf.all.rp_filter=2";

struct RailFacts {
  InterfaceSettings settings;
  // interface of the route from the rail's first IPv4 address to its own subnet, when any interface is allowed;
  // empty: not known
  std::string way_back;
  // interface of the default route, if no route leads by the rail beyond its subnets; else empty
  std::string way_out;
  // interface of the default route from that address, when any interface is allowed; empty: not known
  std::string way_back_beyond;
};

// The hazards of one rail. Other rails are indices into the list of rails.
struct RailHazards {
  // Rails in the same subnet for whose addresses this rail answers ARP: peers may send those rails' traffic to this
  // rail.
  std::vector<std::size_t> answers_for;
  // Rails in other subnets for whose addresses this rail answers ARP. A hazard only if one switch joins the rails.
  std::vector<std::size_t> may_answer_for;
  // Interface by which the route back to the rail's own subnet leads, if this rail therefore drops all packets from the
  // subnet (rp_filter is 1); else empty
  std::string drops_in_favour_of;
  std::string drops_beyond_in_favour_of;  // as above, for packets from beyond the rail's subnets
  std::string no_way_out_but;             // RailFacts::way_out
};

// Returns the hazards, by rail. REQUIRES: one element of `facts` for each rail. Loopback rails and rails without IPv4
// have no hazards. A setting that is not known is no hazard.
std::vector<RailHazards> find_hazards(const std::vector<Rail>& rails, const std::vector<RailFacts>& facts);

// Returns one line for people: "good", or the hazards followed by "; mend: " and the commands.
std::string verdict(const std::vector<Rail>& rails, const RailHazards& hazards);

}  // namespace railweave::discovery
