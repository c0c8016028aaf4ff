// The choice of interfaces that the user named: each is taken, or the reason against it is reported. No rule applies
// but usability.
#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <optional>

#include "base/error.h"
#include "discovery/selection.h"

namespace railweave::discovery {
namespace {

bool has_name(const Interface& interface, const std::string& name) { return interface.link.name == name; }

// True if `a` comes before `b`; numbers inside the names compare as numbers.
bool name_order(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::size_t from_a = i, from_b = j;
      while (i < a.size() && digit(a[i])) ++i;
      while (j < b.size() && digit(b[j])) ++j;
      const std::string number_a = a.substr(from_a, i - from_a), number_b = b.substr(from_b, j - from_b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

std::string unusable(const Interface& interface) {
  if (!interface.link.up) return "down";
  if (!interface.link.running) return "no carrier";
  const AddressChoice& addresses = interface.addresses;
  if (addresses.link_local_pending || (addresses.pending && (addresses.usable.empty() || addresses.link_local_only))) {
    return "its IPv6 address is still tentative (duplicate detection)";
  }
  if (!addresses.usable.empty()) return {};
  return addresses.passed_over ? "no address but deprecated, duplicate or unwanted ones" : "no address";
}

void take_if_usable(const std::vector<Interface>& all, std::size_t index, const std::string& why,
                    Selection& selection) {
  if (std::string reason = unusable(all[index]); !reason.empty()) {
    selection.reasons[index] = fmt::format("{}, but unusable: {}", why, reason);
    note_pending(all[index], selection);
  } else {
    selection.reasons[index] = why;
    selection.taken.push_back(index);
  }
}

void note_pending(const Interface& interface, Selection& selection) {
  if (!interface.link.up) return;
  selection.link_pending |= !interface.link.running;
  selection.address_pending |=
      interface.link.running && (interface.addresses.pending || interface.addresses.link_local_pending);
}

bool rail_order(const Interface& a, const Interface& b) {
  if (a.pci_path.empty() != b.pci_path.empty()) return b.pci_path.empty();
  if (a.pci_path != b.pci_path) return a.pci_path < b.pci_path;
  return name_order(a.link.name, b.link.name);
}

std::string list_names(const std::vector<Interface>& all, std::size_t bytes_max) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (text.size() + all[i].link.name.size() > bytes_max) return text + fmt::format(" and {} more", all.size() - i);
    text += (i ? ", " : "") + all[i].link.name;
  }
  return text.empty() ? "none" : text;
}

Result<Selection> select_rails(const std::vector<std::string>& names, const std::vector<Interface>& all) {
  Selection selection;
  selection.reasons.assign(all.size(), "not in RAILWEAVE_RAILS");
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) {
      return Status(Code::invalid_config, Scope::engine, fmt::format("RAILWEAVE_RAILS names {} twice", *name));
    }
    const auto found = std::find_if(all.begin(), all.end(), [&](const Interface& one) { return has_name(one, *name); });
    if (found == all.end()) {
      return Status(Code::invalid_config, Scope::engine,
                    fmt::format("RAILWEAVE_RAILS: no interface is called \"{}\"; there are: {}", name->substr(0, 64),
                                list_names(all)));
    }
    take_if_usable(all, static_cast<std::size_t>(found - all.begin()), "named in RAILWEAVE_RAILS", selection);
  }
  return selection;
}

Result<Selection> select_listed(const NameList& list, const std::string& text, const std::vector<Interface>& all) {
  Selection selection;
  selection.reasons.assign(all.size(), "not matched by NCCL_SOCKET_IFNAME");
  std::vector<std::size_t> matched;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!list.matches(all[i].link.name)) continue;
    // A prefix such as "l" may be meant for lan0, so loopback is taken by its full name only.
    if (all[i].link.loopback && !list.spells_out(all[i].link.name)) {
      selection.reasons[i] = "loopback, taken only when NCCL_SOCKET_IFNAME spells its name out";
    } else {
      matched.push_back(i);
    }
  }
  if (matched.empty()) {
    return Status(
        Code::invalid_config, Scope::engine,
        fmt::format("NCCL_SOCKET_IFNAME={} matches no interface; there are: {}", text.substr(0, 128), list_names(all)));
  }
  std::sort(matched.begin(), matched.end(), [&](std::size_t a, std::size_t b) { return rail_order(all[a], all[b]); });
  for (const std::size_t i : matched) take_if_usable(all, i, "matched by NCCL_SOCKET_IFNAME", selection);
  return selection;
}

Result<Selection> select(const Config& config, const HostView& host, const std::vector<Interface>& all) {
  if (!config.rails.empty()) return select_rails(config.rails, all);
  std::optional<NameList> excluded;
  if (!config.interfaces.empty()) {
    RW_ASSIGN_OR_RETURN(excluded, NameList::parse(config.interfaces));
    if (!excluded->excludes()) return select_listed(*excluded, config.interfaces, all);
  }
  RW_ASSIGN_OR_RETURN(const PodNetworks pod, pod_networks(config, host));
  return select_pod(pod, excluded ? &*excluded : nullptr, all);
}

}  // namespace railweave::discovery
