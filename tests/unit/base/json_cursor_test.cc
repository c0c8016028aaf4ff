#include "base/json_cursor.h"

#include <gtest/gtest.h>

namespace railweave {
namespace {

// Returns "" if `text` is one well-formed value, or the error.
std::string error_of(std::string_view text) {
  JsonCursor json(text);
  if (json.skip() && json.finish()) return {};
  EXPECT_EQ(json.status().code(), Code::invalid_config);
  return json.status().message();
}

std::string text_of(std::string_view text) {
  JsonCursor json(text);
  std::string value;
  return json.text(value) && json.finish() ? value : "error: " + json.status().message();
}

TEST(JsonCursor, takes_what_json_allows) {
  for (const char* text : {"{}", "[]", " [ ] ", "null", "true", "false", "0", "-0", "10", "-1.5e+3", "1E9", "0.25",
                           R"("")", R"({"a":[1,{"b":null}],"a":"x"})", "\t[\r\n1 , 2]\n"})
    EXPECT_EQ(error_of(text), "") << text;
}

TEST(JsonCursor, names_the_place_of_an_error) {
  EXPECT_EQ(error_of(""), "byte 0: found the end, expected a value");
  EXPECT_EQ(error_of("[1,]"), "byte 3: found ']', expected a value");
  EXPECT_EQ(error_of("[1 2]"), "byte 3: found '2', expected ',' or ']'");
  EXPECT_EQ(error_of("[1"), "byte 2: found the end, expected ',' or ']'");
  EXPECT_EQ(error_of(R"({"a" 1})"), "byte 5: found '1', expected ':'");
  EXPECT_EQ(error_of("{a:1}"), "byte 1: found 'a', expected a string");
  EXPECT_EQ(error_of("{} {}"), "byte 3: found '{', expected the end");
  EXPECT_EQ(error_of("\x01"), "byte 0: found byte 0x01, expected a value");
  EXPECT_EQ(error_of(std::string_view("[\0]", 3)), "byte 1: found byte 0x00, expected a value");
}

TEST(JsonCursor, refuses_what_other_readers_forgive) {
  for (const char* text : {"tru", "nul", "NaN", "+1", "01", "1.", ".5", "1e", "-", "'a'", "[1,,2]", "{\"a\":1,}", "\"a",
                           "\"\n\"", R"("\x")", R"("\u12")", R"("\u12g4")", "// c\n1"})
    EXPECT_NE(error_of(text), "") << text;
}

TEST(JsonCursor, strings_lose_their_escapes) {
  EXPECT_EQ(text_of(R"("net1")"), "net1");
  EXPECT_EQ(text_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of(R"("d\u0065fault")"), "default");
  EXPECT_EQ(text_of(R"("\u00e9")"), R"(\u00e9)");
  EXPECT_EQ(text_of("1"), "error: byte 0: found '1', expected a string");
}

TEST(JsonCursor, nesting_is_bounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(error_of(nested(JsonCursor::kDepthMax)), "");
  EXPECT_NE(error_of(nested(JsonCursor::kDepthMax + 1)).find("at most 16 lists and objects"), std::string::npos);
  EXPECT_NE(error_of(std::string(1'000'000, '[')), "");
  std::string beside = "[";
  for (int i = 0; i < 100; ++i) beside += "[],{},";
  EXPECT_EQ(error_of(beside + "1]"), "");
}

TEST(JsonCursor, the_first_error_stays) {
  JsonCursor json("[x]");
  bool flag = true;
  std::string text;
  EXPECT_FALSE(json.list([&] { return json.flag(flag); }));
  const std::string first = json.status().message();
  EXPECT_FALSE(json.text(text) || json.flag(flag) || json.skip() || json.finish());
  EXPECT_EQ(json.status().message(), first);
}

}  // namespace
}  // namespace railweave
