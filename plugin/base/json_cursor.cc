#include "base/json_cursor.h"

#include <fmt/format.h>
#include <charconv>

namespace railweave {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

}  // namespace

bool JsonCursor::wrong(std::string_view expected) {
  if (!status_.ok()) return false;
  std::string found = "the end";
  if (at_ < text_.size()) {
    const char c = text_[at_];
    const bool graphic = c > ' ' && c <= '~';
    found = graphic ? fmt::format("'{}'", c) : fmt::format("byte {:#04x}", static_cast<unsigned char>(c));
  }
  status_ =
      Status(Code::invalid_config, Scope::engine, fmt::format("byte {}: found {}, expected {}", at_, found, expected));
  return false;
}

char JsonCursor::next() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonCursor::take(char c) {
  if (!status_.ok() || next() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

bool JsonCursor::open(char bracket, std::string_view expected) {
  if (!expect(bracket, expected)) return false;
  if (++depth_ <= kDepthMax) return true;
  return wrong(fmt::format("at most {} lists and objects inside each other", kDepthMax));
}

bool JsonCursor::word(std::string_view letters, std::string_view expected) {
  if (!status_.ok() || text_.substr(at_, letters.size()) != letters) return wrong(expected);
  at_ += letters.size();
  return true;
}

bool JsonCursor::flag(bool& to) {
  to = next() == 't';
  return word(to ? "true" : "false", "true or false");
}

bool JsonCursor::digits() {
  if (at_ == text_.size() || !is_digit(text_[at_])) return wrong("a digit");
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  return true;
}

bool JsonCursor::number() {
  const auto has = [&](std::string_view any) { return at_ < text_.size() && any.find(text_[at_]) != any.npos; };
  if (has("-")) ++at_;
  const bool zero = has("0");
  if (zero) ++at_;  // no digit may follow
  if (!zero && !digits()) return false;
  if (has(".") && (++at_, !digits())) return false;
  if (!has("eE")) return true;
  ++at_;
  if (has("+-")) ++at_;
  return digits();
}

bool JsonCursor::escape(std::string& to) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const char letter = at_ < text_.size() ? text_[at_] : '\0';
  if (const std::size_t which = kLetters.find(letter); at_ < text_.size() && which != kLetters.npos) {
    to += kMeanings[which];
    ++at_;
    return true;
  }
  if (letter != 'u') return wrong("an escape");
  ++at_;
  const std::string_view hex = text_.substr(at_, 4);
  unsigned code = 0;
  const auto [stop, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
  if (hex.size() != 4 || error != std::errc() || stop != hex.data() + 4) return wrong("four hexadecimal digits");
  at_ += 4;
  if (code < 0x80)
    to += static_cast<char>(code);
  else
    to.append("\\u").append(hex);
  return true;
}

bool JsonCursor::text(std::string& to) {
  to.clear();
  if (!expect('"', "a string")) return false;
  while (at_ < text_.size() && text_[at_] != '"') {
    if (is_control(text_[at_])) return wrong("a character of a string");
    if (text_[at_] != '\\') {
      to += text_[at_++];
    } else if (++at_, !escape(to)) {
      return false;
    }
  }
  return expect('"', "'\"'");
}

bool JsonCursor::skip() {
  std::string ignored;
  bool flag_ignored = false;
  switch (const char first = next()) {
    case '{': return object([&](const std::string&) { return skip(); });
    case '[': return list([&] { return skip(); });
    case '"': return text(ignored);
    case 't':
    case 'f': return flag(flag_ignored);
    case 'n': return word("null", "null");
    default: return status_.ok() && (first == '-' || is_digit(first)) ? number() : wrong("a value");
  }
}

bool JsonCursor::finish() {
  next();
  return status_.ok() && (at_ == text_.size() || wrong("the end"));
}

}  // namespace railweave
