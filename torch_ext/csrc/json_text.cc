#include "torch_ext/csrc/json_text.h"

namespace railweave::torch_ext {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// Returns the bytes of the UTF-8 character at `i`; 0: there is none.
std::size_t character_bytes(std::string_view text, std::size_t i) {
  const unsigned first = byte_at(text, i);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || i + bytes > text.size()) return 0;
  for (std::size_t k = 1; k < bytes; ++k)
    if ((byte_at(text, i + k) & 0xc0) != 0x80) return 0;
  const unsigned second = byte_at(text, i + 1);
  const bool too_low = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool too_high = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return too_low || too_high ? 0 : bytes;
}

}  // namespace

void append_quoted(std::string& to, std::string_view text, std::size_t most) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  to += '"';
  if (text.size() > most) {
    to += "...";
    text.remove_prefix(text.size() - most);
  }
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(text, i);
    const char c = text[i];
    if (bytes == 0) {
      to += '?';
    } else if (bytes > 1) {
      to += text.substr(i, bytes);
    } else if (c == '"' || c == '\\') {
      (to += '\\') += c;
    } else if (byte_at(text, i) < 0x20 || c == '\x7f') {
      ((to += "\\u00") += kDigits[byte_at(text, i) >> 4]) += kDigits[byte_at(text, i) & 15];
    } else {
      to += c;
    }
    i += bytes == 0 ? 1 : bytes;
  }
  to += '"';
}

void begin_member(std::string& to, std::string_view name) {
  if (!to.empty() && to.back() != '{') to += ", ";
  append_quoted(to, name);
  to += ": ";
}

void append_member(std::string& to, std::string_view name, bool value) {
  begin_member(to, name);
  to += value ? "true" : "false";
}

void append_member(std::string& to, std::string_view name, std::string_view text, std::size_t most) {
  begin_member(to, name);
  append_quoted(to, text, most);
}

}  // namespace railweave::torch_ext
