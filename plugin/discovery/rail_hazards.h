// What the kernel's settings do to several IPv4 rails of one host: one rail answers ARP for another, or drops packets
// because the route back leads by another. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "discovery/host_settings.h"
#include "railweave/device.h"

namespace railweave::discovery {

// The settings that mend the hazards, for messages. Both hold for every interface.
inline constexpr char kMendArp[] = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2";
inline constexpr char kMendReversePath[] = "sysctl -w net.ipv4.conf.all.rp_filter=2";

struct RailFacts {
  InterfaceSettings settings;
  // interface by which packets leave from the rail's first IPv4 address to its own subnet, when they may leave by any;
  // empty: not known
  std::string way_back;
  // where no route leads by the rail beyond its subnets: the interface by which the default route leads
  std::string way_out;
  // the interface by which the default route leads when packets may leave by any; empty: not known
  std::string way_back_beyond;
};

// The hazards of one rail. Other rails are indices into the list of rails.
struct RailHazards {
  // Rails that share a subnet with this one, for whose addresses this rail answers ARP: peers may send those rails'
  // traffic here.
  std::vector<std::size_t> answers_for;
  // Rails of other subnets, likewise, but only where a switch joins them with this one.
  std::vector<std::size_t> may_answer_for;
  // Where this rail drops all that comes from its own subnet, because rp_filter is 1: the interface by which the route
  // back leads.
  std::string drops_in_favour_of;
  std::string drops_beyond_in_favour_of;  // likewise all that comes from beyond
  std::string no_way_out_but;             // RailFacts::way_out
};

// By rail. REQUIRES: one element of `facts` for each rail. Loopback, and rails without IPv4, have no hazards; settings
// that are not known are none.
std::vector<RailHazards> find_hazards(const std::vector<Rail>& rails, const std::vector<RailFacts>& facts);

// For people: "good", or what happens and, behind "; mend: ", the settings. One line.
std::string verdict(const std::vector<Rail>& rails, const RailHazards& hazards);

}  // namespace railweave::discovery
