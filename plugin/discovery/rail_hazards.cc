#include "discovery/rail_hazards.h"

#include <fmt/format.h>
#include <algorithm>

#include "discovery/address_choice.h"

namespace railweave::discovery {
namespace {

bool is_v4(const Address& address) { return address.family == Address::Family::v4; }

bool has_v4(const Rail& rail) {
  return !rail.loopback && !rail.by_routes && std::ranges::any_of(rail.addresses, is_v4);
}

bool share_a_subnet(const Rail& a, const Rail& b) {
  return std::ranges::any_of(a.addresses, [&](const Address& one) {
    return is_v4(one) &&
           std::ranges::any_of(b.addresses, [&](const Address& other) { return same_subnet(one, other); });
  });
}

// True if `here` answers ARP requests for addresses of `other`. The kernel treats an ARP request as a packet from the
// asking peer to the requested address. So rp_filter=1 drops the request if the route back leads by another interface.
bool answers(const Rail& here, const RailFacts& facts, const RailFacts& other) {
  return facts.settings.answers_for_others() && (!facts.settings.is_strict() || other.way_back == here.name);
}

std::string names_of(const std::vector<Rail>& rails, const std::vector<std::size_t>& which) {
  std::string text;
  for (std::size_t i = 0; i < which.size(); ++i)
    text += (i == 0 ? "" : i + 1 == which.size() ? " and " : ", ") + rails[which[i]].name;
  return text;
}

struct Finding {
  std::string what, mend;
};

std::vector<Finding> findings(const std::vector<Rail>& rails, const RailHazards& hazards) {
  std::vector<Finding> found;
  if (!hazards.drops_in_favour_of.empty())
    found.push_back(
        {fmt::format("drops what comes from its own subnet, because rp_filter is 1 and the route back leads by {}",
                     hazards.drops_in_favour_of),
         kMendReversePath});
  if (!hazards.answers_for.empty())
    found.push_back({fmt::format("answers ARP for the addresses of {}, so peers may send that traffic here",
                                 names_of(rails, hazards.answers_for)),
                     kMendArp});
  if (!hazards.no_way_out_but.empty() && hazards.drops_in_favour_of.empty())
    found.push_back({fmt::format("{}its own subnet only, for the route beyond leads by {}",
                                 found.empty() ? "good for " : "reaches ", hazards.no_way_out_but),
                     "policy routing (docs/operate/deployment.md)"});
  if (!hazards.drops_beyond_in_favour_of.empty())
    found.push_back(
        {fmt::format("{}drops what comes from beyond {}, because rp_filter is 1 and the route back there leads by {}",
                     found.empty() ? "good for its own subnet, " : "", found.empty() ? "it" : "its own subnet",
                     hazards.drops_beyond_in_favour_of),
         kMendReversePath});
  if (found.empty() && !hazards.may_answer_for.empty()) found.push_back({"good", {}});
  if (!hazards.may_answer_for.empty())
    found.push_back({fmt::format("where a switch joins it with {0}, it answers ARP for the addresses of {0}",
                                 names_of(rails, hazards.may_answer_for)),
                     hazards.answers_for.empty() ? kMendArp : ""});
  return found;
}

}  // namespace

std::vector<RailHazards> find_hazards(const std::vector<Rail>& rails, const std::vector<RailFacts>& facts) {
  std::vector<RailHazards> all(rails.size());
  for (std::size_t here = 0; here < rails.size(); ++here) {
    if (!has_v4(rails[here])) continue;
    const std::string& way_back = facts[here].way_back;
    if (facts[here].settings.is_strict() && !way_back.empty() && way_back != rails[here].name)
      all[here].drops_in_favour_of = way_back;
    all[here].no_way_out_but = facts[here].way_out;
    const std::string& from_beyond = facts[here].way_back_beyond;
    const bool has_way_out = facts[here].way_out.empty() && !from_beyond.empty();
    if (facts[here].settings.is_strict() && has_way_out && from_beyond != rails[here].name)
      all[here].drops_beyond_in_favour_of = from_beyond;
    for (std::size_t other = 0; other < rails.size(); ++other) {
      if (other == here || !has_v4(rails[other]) || !answers(rails[here], facts[here], facts[other])) continue;
      auto& whom = share_a_subnet(rails[here], rails[other]) ? all[here].answers_for : all[here].may_answer_for;
      whom.push_back(other);
    }
  }
  return all;
}

std::string verdict(const std::vector<Rail>& rails, const RailHazards& hazards) {
  std::string what, mend;
  for (const Finding& finding : findings(rails, hazards)) {
    what += (what.empty() ? "" : "; ") + finding.what;
    if (!finding.mend.empty()) mend += (mend.empty() ? "; mend: " : " and: ") + finding.mend;
  }
  return what.empty() ? "good" : what + mend;
}

}  // namespace railweave::discovery
