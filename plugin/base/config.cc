// Reads all sections of the configuration from the environment, and suggests the variable that a typing error meant.
#include "railweave/config.h"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <numeric>

#include "base/config_section.h"

namespace railweave {
namespace {

constexpr std::string_view kOurPrefix = "RAILWEAVE_";

const Setting* find_setting(std::string_view name) {
  const auto settings = config_settings();
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? nullptr : *found;
}

// Letters to insert, delete or replace to get from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

bool is_of_another_library(std::string_view name) {
  const auto others = variables_of_other_libraries();
  return std::ranges::find(others, name) != others.end();
}

bool is_ours(const Setting& setting) { return setting.name.starts_with(kOurPrefix); }

std::string unknown_name(std::string_view name) {
  constexpr std::size_t kNameShownMax = 64;
  name = name.substr(0, kNameShownMax);
  std::string_view nearest;
  std::size_t nearest_distance = name.size();
  std::vector<std::string_view> known;
  for (const Setting* setting : config_settings())
    if (is_ours(*setting)) known.push_back(setting->name);
  for (const std::string_view other : variables_of_other_libraries())
    if (std::ranges::find(known, other) == known.end()) known.push_back(other);
  for (const std::string_view one : known) {
    const std::size_t distance = edit_distance(name, one);
    if (distance < nearest_distance) nearest = one, nearest_distance = distance;
  }
  // Half the name's own part wrong: no guess is better than a bad one.
  const bool guess = 2 * nearest_distance <= std::max(name.size(), nearest.size()) - kOurPrefix.size();
  if (guess) return fmt::format("{}: no such variable, did you mean {}?", name, nearest);
  return fmt::format("{}: no such variable; there are {}", name, fmt::join(known, ", "));
}

std::string ill_formed(const Setting& setting, std::string_view value) {
  constexpr std::size_t kValueShownMax = 100;
  const bool cut = value.size() > kValueShownMax;
  return fmt::format("{}: found '{}{}', expected {}", setting.name, value.substr(0, kValueShownMax), cut ? "..." : "",
                     expected_form(setting));
}

}  // namespace

Result<Config> Config::parse(const std::map<std::string, std::string>& environment) {
  Config config;
  std::vector<std::string> problems;
  for (const auto& [name, value] : environment) {
    const Setting* const setting = find_setting(name);
    if (setting && !parse_setting(*setting, value, config)) problems.push_back(ill_formed(*setting, value));
    if (!setting && name.starts_with(kOurPrefix) && !is_of_another_library(name))
      problems.push_back(unknown_name(name));
  }
  if (problems.empty()) return config;
  return Status(Code::invalid_config, Scope::engine, fmt::format("{}", fmt::join(problems, "; ")));
}

Result<Config> Config::from_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    if (!name.starts_with(kOurPrefix) && !find_setting(name)) continue;
    environment.emplace(name, text.substr(std::min(equals + 1, text.size())));
  }
  return parse(environment);
}

std::vector<std::string> Config::overrides() const {
  const Config defaults;
  std::vector<std::string> changed;
  for (const Setting* setting : config_settings()) {
    const std::string value = value_text(*setting, *this);
    if (value != value_text(*setting, defaults)) changed.push_back(fmt::format("{}={}", setting->name, value));
  }
  return changed;
}

}  // namespace railweave
