#include "deploy/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace railweave::deploy {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_plain_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
}

// YAML 1.1 takes these words, in any case, for booleans and null.
bool is_reserved(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  std::string lower(text);
  for (char& c : lower)
    if (is_letter(c)) c = static_cast<char>(c | 0x20);
  return std::ranges::find(kWords, lower) != kWords.end();
}

// A text that begins with a letter or a slash is no number, no date and no mark of YAML.
bool is_plain(std::string_view text) {
  return !text.empty() && (is_letter(text.front()) || text.front() == '/') &&
         std::ranges::all_of(text, is_plain_character) && !is_reserved(text);
}

unsigned long code_at(const std::string& json, std::size_t at) { return std::stoul(json.substr(at, 4), nullptr, 16); }

bool is_first_of_pair(unsigned long code) { return code >= 0xd800 && code < 0xdc00; }

// A text in double quotes, in ASCII. JSON's escapes are a part of YAML's with one exception: JSON writes a character
// beyond 16 bits as a pair of escapes, YAML as one.
std::string quoted(const std::string& text) {
  const std::string json = Json(text).dump(-1, ' ', true);
  constexpr std::size_t kEscape = 6;  // "\u0000"
  std::string yaml;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t length = json[at] != '\\' ? 1 : json[at + 1] != 'u' ? 2 : kEscape;
    if (length == kEscape && is_first_of_pair(code_at(json, at + 2))) {
      const unsigned long high = code_at(json, at + 2) - 0xd800, low = code_at(json, at + kEscape + 2) - 0xdc00;
      yaml += fmt::format("\\U{:08x}", 0x10000 + (high << 10) + low);
      at += 2 * kEscape;
    } else {
      yaml.append(json, at, length);
      at += length;
    }
  }
  return yaml;
}

// True if a literal block gives the text back: visible ASCII, no blank at a line's end, no empty line at either end.
bool fits_block(std::string_view text) {
  if (text.find('\n') == text.npos || text.front() == ' ' || text.front() == '\n' || text.back() == '\n') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool ends_line = i + 1 == text.size() || text[i + 1] == '\n';
    if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~')) return false;
    if (text[i] == ' ' && ends_line) return false;
  }
  return true;
}

std::string block(std::string_view text, std::size_t indent) {
  std::string lines = "|-";
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines += "\n";
    if (end > from) lines.append(indent, ' ').append(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::string scalar(const Json& value, std::size_t indent) {
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  if (is_plain(text)) return text;
  return fits_block(text) ? block(text, indent) : quoted(text);
}

bool is_nested(const Json& value) { return value.is_structured() && !value.empty(); }

std::string lines_of(const Json& value, std::size_t indent);

std::string members(const Json& object, std::size_t indent) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text.append(indent, ' ').append(is_plain(key) ? key : quoted(key)).append(":");
    text += is_nested(value) ? "\n" + lines_of(value, indent + 2) : " " + scalar(value, indent + 2) + "\n";
  }
  return text;
}

std::string elements(const Json& list, std::size_t indent) {
  std::string text;
  for (const Json& value : list) {
    std::string element = is_nested(value) ? lines_of(value, indent + 2)
                                           : std::string(indent + 2, ' ') + scalar(value, indent + 2) + "\n";
    element[indent] = '-';
    text += element;
  }
  return text;
}

std::string lines_of(const Json& value, std::size_t indent) {
  return value.is_object() ? members(value, indent) : elements(value, indent);
}

}  // namespace

std::string yaml_text(const Json& value) { return is_nested(value) ? lines_of(value, 0) : scalar(value, 2) + "\n"; }

}  // namespace railweave::deploy
