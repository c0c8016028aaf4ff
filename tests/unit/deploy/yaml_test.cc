#include "deploy/yaml.h"

#include <gtest/gtest.h>

namespace railweave::deploy {
namespace {

std::string value_of(const std::string& text) { return yaml_text({{"k", text}}).substr(3); }

TEST(Yaml, objects_and_lists_are_blocks) {
  const Json value = Json::parse(R"({"b":1,"a":{"list":["x",{"v":2,"z":[3]},[4,5]]},"none":null,"no":true})");
  EXPECT_EQ(yaml_text(value),
            "b: 1\n"
            "a:\n"
            "  list:\n"
            "    - x\n"
            "    - v: 2\n"
            "      z:\n"
            "        - 3\n"
            "    - - 4\n"
            "      - 5\n"
            "none: null\n"
            "\"no\": true\n");
}

TEST(Yaml, empty_containers_are_visible) {
  EXPECT_EQ(yaml_text(Json::parse(R"({"a":{},"b":[],"c":[{},[]]})")), "a: {}\nb: []\nc:\n  - {}\n  - []\n");
}

TEST(Yaml, plain_texts_stay_plain) {
  for (const char* text : {"net1", "/etc/podinfo", "apps/v1", "k8s.v1.cni.cncf.io", "a-b_c", "e5", "nothing"})
    EXPECT_EQ(value_of(text), std::string(text) + "\n");
}

TEST(Yaml, texts_that_mean_something_else_are_quoted) {
  for (const char* text :
       {"",   "true", "No",  "ON",   "y",    "null", "1",        "1.5",        "0x1f", "1e3", ".5", ".inf", "~",
        "-",  "- a",  "?",   "a: b", "a #b", "#a",   "&a",       "*a",         "!a",   "|",   ">",  "%a",   "@a",
        "`a", "[a]",  "{a}", "'a'",  " a",   "a ",   "12:30:45", "2026-01-01", "=",    "<<",  "a,b"})
    EXPECT_EQ(value_of(text), "\"" + std::string(text) + "\"\n");
}

TEST(Yaml, quotes_controls_and_letters_beyond_ascii_are_escaped) {
  EXPECT_EQ(value_of("a\"b\\c"), "\"a\\\"b\\\\c\"\n");
  EXPECT_EQ(value_of("a\tb\x7f"), "\"a\\tb\\u007f\"\n");
  EXPECT_EQ(value_of("caf\xc3\xa9"), "\"caf\\u00e9\"\n");
  EXPECT_EQ(value_of("\xf0\x9f\x98\x80!"), "\"\\U0001f600!\"\n");
  EXPECT_EQ(value_of("\\ud83d\\ude00"), "\"\\\\ud83d\\\\ude00\"\n");
}

TEST(Yaml, lines_become_a_block_where_a_block_holds_them) {
  EXPECT_EQ(yaml_text({{"a", {{"k", "{\n  \"x\": 1\n}"}}}}), "a:\n  k: |-\n    {\n      \"x\": 1\n    }\n");
  EXPECT_EQ(value_of("a\n\nb"), "|-\n  a\n\n  b\n");
  for (const char* text : {" a\nb", "\na", "a\n", "a \nb", "a\n ", "a\tb\nc", "a\n\xc3\xa9"})
    EXPECT_EQ(value_of(text).front(), '"') << text;
}

TEST(Yaml, a_list_may_hold_blocks) { EXPECT_EQ(yaml_text(Json::array({"a\nb", "c"})), "- |-\n  a\n  b\n- c\n"); }

}  // namespace
}  // namespace railweave::deploy
