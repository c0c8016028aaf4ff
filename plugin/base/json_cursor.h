// JsonCursor: walks JSON text (RFC 8259) once, from front to back, and makes no tree. The caller reads each value as
// what the caller expects, or skips it. Text from outside this process is safe to read: nesting is bounded, and nothing
// but the caller's strings takes memory.
//
//   JsonCursor json(text);
//   const bool well =
//       json.object([&](const std::string& key) { return key == "name" ? json.text(name) : json.skip(); });
//   if (!well || !json.finish()) return json.status();
//
// Every reader returns false at the first error; all later ones then return false, too. Threads: one at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "railweave/status.h"

namespace railweave {

class JsonCursor {
 public:
  static constexpr int kDepthMax = 16;

  // REQUIRES: `text` outlives the cursor.
  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Calls `element()` at each element of a list. REQUIRES: `element` reads or skips exactly one value.
  template <class Element>
  bool list(const Element& element) {
    if (!open('[', "a list")) return false;
    if (take(']')) return leave();
    do {
      if (!element()) return false;
    } while (take(','));
    return expect(']', "',' or ']'") && leave();
  }

  // Calls `member(key)` at each value of an object. REQUIRES: `member` reads or skips exactly one value.
  template <class Member>
  bool object(const Member& member) {
    if (!open('{', "an object")) return false;
    if (take('}')) return leave();
    do {
      std::string key;
      if (!text(key) || !expect(':', "':'") || !member(key)) return false;
    } while (take(','));
    return expect('}', "',' or '}'") && leave();
  }

  // Reads a string. An escape beyond ASCII stays as written ("\u00e9"): no name that we look for has one.
  bool text(std::string& to);
  bool flag(bool& to);  // true or false
  bool skip();          // a value of any kind
  bool finish();        // nothing but blanks may follow

  // The first error: invalid_config, "byte 17: found 'x', expected a list".
  const Status& status() const { return status_; }

 private:
  char next();  // behind blanks; 0 at the end
  bool take(char c);
  bool expect(char c, std::string_view expected) { return take(c) || wrong(expected); }
  bool open(char bracket, std::string_view expected);
  bool leave() { return --depth_, true; }
  bool word(std::string_view letters, std::string_view expected);
  bool digits();
  bool number();
  bool escape(std::string& to);
  bool wrong(std::string_view expected);  // records what was found at `at_`; false

  std::string_view text_;
  std::size_t at_ = 0;  // bytes of `text_` that have been read
  int depth_ = 0;
  Status status_;
};

}  // namespace railweave
