#include "fsdp_replay/parameters.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tiny.h"

namespace railweave::replay_test {

using perf::fsdp_replay::read_parameters;

namespace {

using nlohmann::json;

// Returns why the committed file is refused with one value changed, without the path; "" if it is accepted.
std::string refusal(const char* where, const json& value) {
  json document = json::parse(std::ifstream(RAILWEAVE_REPLAY_PARAMETERS));
  document[json::json_pointer(where)] = value;
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();  // tests may run at once
  const std::string path = testing::TempDir() + "fsdp_replay_" + test + ".json";
  std::ofstream(path) << document;
  const auto parameters = read_parameters(path);
  std::filesystem::remove(path);
  if (parameters.ok()) return "";
  EXPECT_EQ(parameters.status().code(), Code::invalid_argument);
  const std::string& message = parameters.status().message();
  EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
  return message.substr(std::min(message.size(), path.size() + 2));
}

TEST(Parameters, a_file_that_is_none__is_named) {
  const auto parameters = read_parameters("/nonexistent.json");
  ASSERT_FALSE(parameters.ok());
  EXPECT_EQ(parameters.status().code(), Code::system);
  EXPECT_NE(parameters.status().message().find("/nonexistent.json"), std::string::npos);
}

TEST(Parameters, a_source__says_something) {
  const char* const places[] = {"/values/wake_s/source", "/models/7B/source", "/published/scaling/source",
                                "/published/communication_bound/source"};
  for (const char* const place : places)
    EXPECT_NE(refusal(place, "").find("source: found \"\", expected a string that says something"), std::string::npos)
        << place;
}

TEST(Parameters, a_fraction__is_no_count) {
  EXPECT_EQ(refusal("/values/ranks_per_host/value", 8.9),
            "values: ranks_per_host: value: found 8.9, expected a whole number from 1 to 1024");
  EXPECT_EQ(refusal("/values/segment_bytes/value", 1.5),
            "values: segment_bytes: value: found 1.5, expected a whole number from 1 to 1000000000000000");
  EXPECT_EQ(refusal("/models/7B/units/1/count", 32.5),
            "models: 7B: units[1]: count: found 32.5, expected a whole number from 1 to 10000");
  EXPECT_EQ(refusal("/published/communication_bound/hosts", 2.5),
            "published: communication_bound: hosts: found 2.5, expected a whole number from 2 to 1024");
}

TEST(Parameters, a_misspelt_key__is_found_everywhere) {
  for (const char* const place :
       {"/values", "/published", "/published/scaling", "/published/scaling/cases/0", "/published/communication_bound"})
    EXPECT_NE(refusal((std::string(place) + "/other").c_str(), 1).find("found the key 'other'"), std::string::npos)
        << place;
}

TEST(Parameters, a_limiter_that_is_none__is_named_with_its_place) {
  EXPECT_EQ(refusal("/published/scaling/cases/1/limiter", "count"),
            "published: scaling: cases[1]: limiter: found \"count\", expected none, block_and_flush or sliding");
  EXPECT_EQ(refusal("/published/scaling/model", "8B"),
            "published: scaling: model: found \"8B\", expected one of models");
}

TEST(Parameters, one_gather_ahead__is_a_limit) { EXPECT_EQ(refusal("/values/limiter_gathers/value", 1), ""); }

}  // namespace
}  // namespace railweave::replay_test
