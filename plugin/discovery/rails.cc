#include "discovery/rails.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "discovery/interface.h"
#include "discovery/selection.h"

namespace railweave::discovery {
namespace {

constexpr Nanos kPollAgain = std::chrono::milliseconds(20);
constexpr std::size_t kReasonsBytesMax = 700;  // a log line holds 1 KiB

struct Reading {
  std::vector<Interface> all;
  Selection selection;
  Status wrong_names;
};

Result<Reading> read(const Config& config, const HostView& host) {
  Reading result;
  RW_ASSIGN_OR_RETURN(result.all, survey(host, config.family));
  Result<Selection> selection = select(config, host, result.all);
  if (selection.ok()) {
    result.selection = std::move(selection.value());
    std::vector<std::size_t>& taken = result.selection.taken;
    for (; taken.size() > kRailsAtOnceMax; taken.pop_back())
      result.selection.reasons[taken.back()] = fmt::format("more than {} rails", kRailsAtOnceMax);
  } else {
    result.wrong_names = selection.status();
    result.selection.reasons.assign(result.all.size(), "not considered: what names the rails is wrong");
  }
  return result;
}

Nanos patience(const Selection& selection) {
  if (selection.networks_pending) return kWaitForNetworks;
  if (!selection.link_pending && !selection.address_pending) return Nanos(0);
  if (!selection.taken.empty() && !selection.better_pending) return kWaitForMore;
  return selection.address_pending ? kWaitForAddress : kWaitForLink;
}

Result<Reading> read_until_settled(const Config& config, const HostView& host) {
  const TimePoint start = host.now();
  for (;;) {
    Result<Reading> result = read(config, host);
    if (!result.ok() || host.now() - start >= patience(result->selection)) return result;
    host.sleep(kPollAgain);
  }
}

Rail to_rail(const Interface& interface) {
  Rail rail;
  rail.name = interface.link.name;
  rail.ifindex = interface.link.ifindex;
  rail.addresses = interface.addresses.usable;
  rail.speed = interface.speed;
  rail.speed_known = interface.speed_known;
  rail.mtu_bytes = interface.link.mtu_bytes;
  rail.numa_node = interface.numa_node;
  rail.pci_path = interface.pci_path;
  rail.physical_function = interface.physical_function;
  rail.whole_port = interface.is_whole_port();
  rail.link_kind = interface.link_kind;
  rail.by_routes = interface.by_routes();
  rail.loopback = interface.link.loopback && !rail.by_routes;
  rail.vrf = interface.vrf;
  rail.vrf_ifindex = interface.vrf_ifindex;
  rail.lanes_min = interface.lanes_min;
  return rail;
}

// Returns the index of the interface's rail in `known`, or -1.
int known_as(const Interface& one, const std::vector<Rail>& known, const std::vector<Interface>& all) {
  const auto same = std::ranges::find(known, one.link.ifindex, &Rail::ifindex);
  if (same != known.end()) return int(same - known.begin());
  const auto is_there = [&](const Rail& rail) {
    return std::ranges::any_of(all, [&](const Interface& other) { return other.link.ifindex == rail.ifindex; });
  };
  const auto named =
      std::ranges::find_if(known, [&](const Rail& rail) { return rail.name == one.link.name && !is_there(rail); });
  return named == known.end() ? -1 : int(named - known.begin());
}

// Makes the known rail's interface look usable in `all`, so that new rails are chosen as if the rail carried traffic.
// `its`: the rail's interface in `all`; null: unplugged, so an interface is added.
void count_as_usable(const Rail& rail, Interface* its, std::vector<Interface>& all) {
  if (!its) {
    its = &all.emplace_back();
    its->link_kind = rail.link_kind;
    its->physical_function = rail.physical_function;
  }
  const bool free = std::ranges::find(all, rail.name, [](const Interface& one) { return one.link.name; }) == all.end();
  if (free) its->link.name = rail.name;  // RAILWEAVE_RAILS or NCCL_SOCKET_IFNAME may ask for this name
  its->link_kind = std::min(its->link_kind, rail.link_kind);
  if (its->pci_path.empty()) its->pci_path = rail.pci_path, its->sub_function = !rail.whole_port;
  its->link.up = its->link.running = true;
  const AddressChoice& has = its->addresses;  // an IPv6 address becomes usable later than the link
  if (has.usable.empty() || has.pending || has.link_local_only) its->addresses = chosen_before(rail.addresses);
  if (its->speed_known) return;
  its->speed = rail.speed;
  its->speed_known = rail.speed_known;
}

// False while a returning rail lacks addresses: link-local ones appear before routable ones, and one family before the
// other.
bool has_settled(const AddressChoice& has, const Rail& rail) {
  return !has.pending && (!has.link_local_only || chosen_before(rail.addresses).link_local_only);
}

Status nothing_usable(const Config& config, const Discovered& found) {
  std::string reasons;
  for (std::size_t i = 0; i < found.considered.size(); ++i) {
    const Considered& one = found.considered[i];
    if (reasons.size() > kReasonsBytesMax) {
      reasons += fmt::format("; and {} more", found.considered.size() - i);
      break;
    }
    reasons += fmt::format("{}{}: {}", i ? "; " : "", one.name, one.reason);
  }
  const char* family = config.family == AddressFamily::v4   ? " for IPv4"
                       : config.family == AddressFamily::v6 ? " for IPv6"
                                                            : "";
  return Status(Code::invalid_config, Scope::engine,
                fmt::format("no usable network interface{}: {}", family, reasons.empty() ? "there is none" : reasons));
}

void say(const Config& config, const Survey& survey) {
  const auto named = [&](const std::string& name) {
    return std::find(config.rails.begin(), config.rails.end(), name) != config.rails.end();
  };
  for (const Considered& one : survey.found.considered) {
    if (!one.taken && named(one.name))
      RW_WARN(net, "interface {} is not used: {}", one.name, one.reason);
    else
      RW_INFO(init, "interface {} {}: {}", one.name, one.taken ? "is a rail" : "is not used", one.reason);
  }
}

}  // namespace

Survey survey_rails(const Config& config, const HostView& host) {
  Survey result;
  Result<Reading> settled = read_until_settled(config, host);
  if (!settled.ok()) {
    result.status = settled.status();
    return result;
  }
  const auto& [all, selection, wrong_names] = settled.value();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool taken = std::find(selection.taken.begin(), selection.taken.end(), i) != selection.taken.end();
    result.found.considered.push_back({all[i].link.name, taken, selection.reasons[i]});
  }
  for (const std::size_t i : selection.taken) result.found.taken.push_back(to_rail(all[i]));
  result.status = wrong_names;
  if (result.status.ok() && result.found.taken.empty()) result.status = nothing_usable(config, result.found);
  if (wrong_names.ok()) say(config, result);  // for wrong names the status is the reason for all interfaces
  for (const std::string& warning : selection.warnings) RW_WARN(net, "{}", warning);
  return result;
}

Result<std::vector<UsableRail>> usable_rails(const Config& config, const HostView& host,
                                             const std::vector<Rail>& known) {
  RW_ASSIGN_OR_RETURN(const std::vector<Interface> all, survey(host, config.family));
  std::vector<UsableRail> rails;
  std::vector<int> rail_of;  // index into `known`, by interface; -1: no known rail
  std::size_t there = 0;
  for (const Interface& one : all) {
    const int rail = rail_of.emplace_back(known_as(one, known, all));
    if (rail < 0) continue;
    ++there;
    if (unusable(one).empty() && has_settled(one.addresses, known[std::size_t(rail)]))
      rails.push_back({to_rail(one), rail});
  }
  std::vector<Interface> with_known = all;
  for (std::size_t rail = 0; rail < known.size(); ++rail) {
    const auto its = std::ranges::find(rail_of, int(rail));
    count_as_usable(known[rail], its == rail_of.end() ? nullptr : &with_known[std::size_t(its - rail_of.begin())],
                    with_known);
  }
  const Result<Selection> selection = select(config, host, with_known);
  if (!selection.ok() && rails.empty()) return selection.status();
  if (!selection.ok()) return rails;
  for (const std::size_t i : selection.value().taken)
    if (i < all.size() && rail_of[i] < 0 && there++ < kRailsAtOnceMax) rails.push_back({to_rail(all[i]), -1});
  return rails;
}

Result<Discovered> discover_rails(const Config& config, const HostView& host) {
  Survey result = survey_rails(config, host);
  if (!result.status.ok()) return result.status;
  return std::move(result.found);
}

}  // namespace railweave::discovery
