#include "info/rail_condition.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/address_text.h"
#include "discovery/rail_facts.h"
#include "discovery/rail_hazards.h"
#include "info/text_table.h"

namespace railweave::info {
namespace {

using discovery::RailFacts;
using discovery::RouteAnswer;
using Kind = RouteAnswer::Kind;
using Json = nlohmann::ordered_json;

RailFacts condition_of(const Rail& rail, const discovery::HostView& host, std::vector<DefaultRoute>& routes) {
  for (const Address& source : rail.addresses) {
    const bool known =
        std::ranges::any_of(routes, [&](const DefaultRoute& route) { return route.source.family == source.family; });
    if (rail.loopback || known || source.scope_id != 0) continue;
    routes.push_back({source, discovery::find_route(
                                  {discovery::outside(source.family), source, rail.by_routes ? 0 : rail.ifindex})});
  }
  return discovery::rail_facts(rail, host);
}

const char* to_text(Kind kind) {
  switch (kind) {
    case Kind::reachable: return "reachable";
    case Kind::none: return "none";
    case Kind::elsewhere: return "elsewhere";
    case Kind::unknown: break;
  }
  return "unknown";
}

std::string route_text(const DefaultRoute& route) {
  const RouteAnswer& answer = route.answer;
  switch (answer.kind) {
    case Kind::reachable: return answer.gateway ? to_string(*answer.gateway) : "on the link";
    case Kind::none: return "none";
    case Kind::elsewhere: return fmt::format("none, but by {}", answer.interface);
    case Kind::unknown: break;
  }
  return "-";
}

std::string routes_text(const RailCondition& condition) {
  std::string text;
  for (const DefaultRoute& route : condition.default_routes)
    text += fmt::format("{}from {}: {}", text.empty() ? "" : "; ", to_string(route.source), route_text(route));
  return text.empty() ? "-" : text;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

std::vector<RailCondition> conditions_of(const std::vector<Rail>& rails, const discovery::HostView& host) {
  std::vector<RailCondition> conditions(rails.size());
  std::vector<RailFacts> facts;
  for (std::size_t i = 0; i < rails.size(); ++i) {
    facts.push_back(condition_of(rails[i], host, conditions[i].default_routes));
    conditions[i].settings = facts[i].settings;
  }
  const std::vector<discovery::RailHazards> hazards = discovery::find_hazards(rails, facts);
  for (std::size_t i = 0; i < rails.size(); ++i) conditions[i].verdict = discovery::verdict(rails, hazards[i]);
  return conditions;
}

std::string conditions_text(const std::vector<Rail>& rails, const std::vector<RailCondition>& conditions) {
  TextTable table({"RAIL", ">ARP_IGNORE", ">ARP_ANNOUNCE", ">RP_FILTER", "DEFAULT ROUTE"});
  for (std::size_t i = 0; i < rails.size(); ++i) {
    const discovery::InterfaceSettings& settings = conditions[i].settings;
    table.add({rails[i].name, setting_text(settings.arp_ignore), setting_text(settings.arp_announce),
               setting_text(settings.rp_filter), routes_text(conditions[i])});
  }
  return table.text();
}

std::string verdicts_text(const std::vector<Rail>& rails, const std::vector<RailCondition>& conditions) {
  std::string text;
  for (std::size_t i = 0; i < rails.size(); ++i)
    text += fmt::format("  {}: {}\n", printable(rails[i].name), printable(conditions[i].verdict));
  return text;
}

nlohmann::ordered_json condition_json(const RailCondition& condition) {
  Json routes = Json::array();
  for (const auto& [source, answer] : condition.default_routes)
    routes.push_back({{"source", to_string(source)},
                      {"kind", to_text(answer.kind)},
                      {"interface", text_or_null(answer.interface)},
                      {"gateway", answer.gateway ? Json(to_string(*answer.gateway)) : Json(nullptr)},
                      {"cause", text_or_null(answer.cause)}});
  return {{"arp_ignore", setting_json(condition.settings.arp_ignore)},
          {"arp_announce", setting_json(condition.settings.arp_announce)},
          {"rp_filter", setting_json(condition.settings.rp_filter)},
          {"default_routes", std::move(routes)},
          {"verdict", condition.verdict}};
}

std::string setting_text(const std::optional<std::int64_t>& setting) {
  return setting ? std::to_string(*setting) : "-";
}
nlohmann::ordered_json setting_json(const std::optional<std::int64_t>& setting) {
  return setting ? Json(*setting) : Json(nullptr);
}

}  // namespace railweave::info
