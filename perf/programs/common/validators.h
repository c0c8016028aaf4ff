// Validators that are stricter than CLI11's own. Each error says what was found and what was expected.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace railweave::perf {

// Parses `text` completely.
template <class Number>
bool parse_whole(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

// Unlike CLI::Range, refuses nan.
inline CLI::Validator number_between(double least, double most) {
  const auto check = [least, most](std::string& text) {
    double value = 0;
    if (parse_whole(text, value) && value >= least && value <= most) return std::string();
    return fmt::format("found '{}', expected a number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, fmt::format("FLOAT in [{} - {}]", least, most));
}

// Takes a whole number of 64 bits. CLI11 itself turns -1 into a large number.
inline CLI::Validator whole_number() {
  const auto check = [](std::string& text) {
    std::uint64_t value = 0;
    if (parse_whole(text, value)) return std::string();
    return fmt::format("found '{}', expected a whole number from 0 to {}", text, ~std::uint64_t{0});
  };
  return CLI::Validator(check, "UINT");
}

inline CLI::Validator not_empty() {
  const auto check = [](std::string& text) {
    return text.empty() ? std::string("found '', expected a name") : std::string();
  };
  return CLI::Validator(check, "");
}

}  // namespace railweave::perf
