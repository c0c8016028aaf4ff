// Formats columns for people: as wide as their widest cell, numbers right-aligned.
#pragma once

#include <string>
#include <vector>

namespace railweave::info {

class TextTable {
 public:
  // A heading that begins with '>' makes its column right-aligned.
  explicit TextTable(const std::vector<std::string>& headings);
  // Cells may hold any bytes: printable() is applied. REQUIRES: as many cells as headings.
  void add(std::vector<std::string> cells);
  std::string text() const;  // lines indented by two; the last column is not padded

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns a name with '?' for control characters and for bytes that are no ASCII, so that the terminal obeys none.
std::string printable(std::string name);
std::string printable_lines(std::string text);  // keeps line ends

std::string size_text(double bytes);        // "1.50 GB": decimal units, as for links
std::string speed_text(double megabits);    // "25.0 Gb/s", "100 Mb/s"
std::string time_text(double nanoseconds);  // "31.2 us", "1.50 s"

}  // namespace railweave::info
