#include "info/text_table.h"

#include <fmt/format.h>
#include <algorithm>

namespace railweave::info {
namespace {

// Returns columns on the screen: continuation bytes of UTF-8 take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

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

void TextTable::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string TextTable::text() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - width_of(row[i]), ' ');
      const bool last = i + 1 == row.size();
      text += "  " + (right_[i] ? blanks + row[i] : row[i] + (last ? "" : blanks));
    }
    text += '\n';
  }
  return text;
}

std::string printable(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c == '\x7f'; }, '?');  // bytes above 127 count as below ' '
  return name;
}

std::string size_text(double bytes) { return scaled(bytes, {"B", "KB", "MB", "GB", "TB", "PB"}); }
std::string time_text(double nanoseconds) { return scaled(nanoseconds, {"ns", "us", "ms", "s"}); }

std::string speed_text(double megabits) {
  if (megabits == 0) return "0";
  return megabits < 999.5 ? rounded(megabits) + " Mb/s" : rounded(megabits / 1000) + " Gb/s";
}

}  // namespace railweave::info
