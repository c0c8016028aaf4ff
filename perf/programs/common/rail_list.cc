#include "common/rail_list.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>

#include "base/error.h"

namespace railweave::perf {
namespace {

std::vector<RailAddress> usable_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<RailAddress> found;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    RailAddress rail{at->ifa_name, at->ifa_name, {}};
    if (at->ifa_addr->sa_family == AF_INET) {
      std::memcpy(&rail.address, at->ifa_addr, sizeof(sockaddr_in));
      found.insert(std::find_if(found.begin(), found.end(),
                                [](const RailAddress& r) { return r.address.ss_family == AF_INET6; }),
                   rail);
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(&rail.address, at->ifa_addr, sizeof(sockaddr_in6));
      const auto& v6 = reinterpret_cast<const sockaddr_in6&>(rail.address);
      if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) found.push_back(rail);
    }
  }
  return found;
}

std::string names_of(const std::vector<RailAddress>& rails) {
  std::set<std::string> names;
  for (const auto& rail : rails) names.insert(rail.name);
  std::string text;
  for (const auto& name : names) text += " " + name;
  return text;
}

bool matches(const RailAddress& rail, const std::string& entry, bool exact) {
  if (rail.name == entry || format_address(rail.address) == entry) return true;
  return !exact && rail.name.compare(0, entry.size(), entry) == 0;
}

}  // namespace

Result<std::vector<RailAddress>> find_rails(std::string list) {
  const bool exact = !list.empty() && list[0] == '=';
  if (exact) list.erase(0, 1);
  const std::vector<RailAddress> usable = usable_addresses();
  std::vector<RailAddress> chosen;
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const bool is_name = std::any_of(usable.begin(), usable.end(), [&](const auto& r) { return r.name == entry; });
    std::set<std::string> taken;  // one address per interface
    for (const auto& rail : usable) {
      if (!matches(rail, entry, exact || is_name) || !taken.insert(rail.name).second) continue;
      chosen.push_back(rail);
      if (format_address(rail.address) == entry) chosen.back().label = entry;
    }
    if (const sockaddr_storage unlisted = parse_address(entry, 0); taken.empty() && unlisted.ss_family != AF_UNSPEC) {
      chosen.push_back(RailAddress{"", entry, unlisted});  // 127.0.0.2 belongs to no interface's list; bind() checks
                                                           // such addresses
    } else if (taken.empty()) {
      return Status(Code::invalid_argument, Scope::engine,
                    "no interface or address '" + entry + "' that is up; there are:" + names_of(usable));
    }
  }
  if (chosen.empty()) return Status(Code::invalid_argument, Scope::engine, "no rails given; name them by --rails");
  return chosen;
}

socklen_t address_length(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string format_address(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  }
  return text;
}

sockaddr_storage parse_address(const std::string& text, std::uint16_t port) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  }
  return storage;
}

}  // namespace railweave::perf
