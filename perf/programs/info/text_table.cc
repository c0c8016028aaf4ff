#include "info/text_table.h"

#include <fmt/format.h>
#include <algorithm>

namespace railweave::info {
namespace {

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

// Three significant digits, never an exponent.
std::string rounded(double value) { return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

std::string scaled(double value, const std::vector<const char*>& units) {
  if (value < 1000) return fmt::format("{:.0f} {}", value, units[0]);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) value /= 1000, ++unit;
  return fmt::format("{} {}", rounded(value), units[unit]);
}

}  // namespace

TextTable::TextTable(const std::vector<std::string>& headings) {
  rows_.emplace_back();
  for (const std::string& heading : headings) {
    right_.push_back(heading[0] == '>');
    rows_[0].push_back(heading.substr(right_.back() ? 1 : 0));
  }
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(std::move(cell));
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      const bool last = i + 1 == row.size();
      text += "  " + (right_[i] ? blanks + row[i] : row[i] + (last ? "" : blanks));
    }
    text += '\n';
  }
  return text;
}

std::string printable(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !is_printable(c); }, '?');
  return name;
}

std::string printable_lines(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return !is_printable(c) && c != '\n'; }, '?');
  return text;
}

std::string size_text(double bytes) { return scaled(bytes, {"B", "KB", "MB", "GB", "TB", "PB"}); }
std::string time_text(double nanoseconds) { return scaled(nanoseconds, {"ns", "us", "ms", "s"}); }

std::string speed_text(double megabits) {
  if (megabits == 0) return "0";
  return megabits < 999.5 ? rounded(megabits) + " Mb/s" : rounded(megabits / 1000) + " Gb/s";
}

}  // namespace railweave::info
