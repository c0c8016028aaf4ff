#include "common/host_ports.h"

#include <charconv>

#include "base/error.h"

namespace railweave::perf {
namespace {

Result<HostPort> parse_place(std::string_view text) {
  const Status not_a_place(Code::invalid_argument, Scope::request,
                           "found '" + std::string(text) + "', expected ADDRESS:PORT with a port from 1 to 65535");
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return not_a_place;
  HostPort place{std::string(text.substr(0, colon)), 0};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, place.port);
  if (error != std::errc() || rest != end || place.port == 0) return not_a_place;
  return place;
}

}  // namespace

Result<std::vector<HostPort>> parse_host_ports(std::string_view text) {
  std::vector<HostPort> places;
  while (true) {
    const auto comma = text.find(',');
    RW_ASSIGN_OR_RETURN(HostPort place, parse_place(text.substr(0, comma)));
    places.push_back(std::move(place));
    if (comma == std::string_view::npos) return places;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace railweave::perf
