// Pieces of JSON, appended to a text. The extension has no JSON library: it only writes, and knows the shape.
// Threads: any; no state.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace railweave::torch_ext {

// Appends `text` in quotes. Control characters are escaped. Bytes that are no UTF-8 become '?'. Of a text longer than
// `most` bytes only the end is written, behind "...".
void append_quoted(std::string& to, std::string_view text, std::size_t most = 1024);

// Appends "[A, B, ...]", one element for each value of `values`; `append_one(to, value)` appends the element.
template <class Values, class AppendOne>
void append_list(std::string& to, const Values& values, AppendOne append_one) {
  to += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) to += ", ";
    first = false;
    append_one(to, value);
  }
  to += ']';
}

// Appends `"name": `, behind a comma unless the member is the object's first.
void begin_member(std::string& to, std::string_view name);
void append_member(std::string& to, std::string_view name, bool value);
template <std::integral Number>
void append_member(std::string& to, std::string_view name, Number value) {
  begin_member(to, name);
  to += std::to_string(value);
}
// `most`: as append_quoted().
void append_member(std::string& to, std::string_view name, std::string_view text, std::size_t most = 1024);
inline void append_member(std::string& to, std::string_view name, const char* text) {
  append_member(to, name, std::string_view(text));
}

template <class Values>
void append_numbers(std::string& to, const Values& values) {
  append_list(to, values, [](std::string& at, const auto& value) { at += std::to_string(value); });
}

}  // namespace railweave::torch_ext
