#include "fsdp_replay/trace.h"

#include <filesystem>

#include "fsdp_replay/made_trace.h"
#include "fsdp_replay/published.h"
#include "tiny.h"

namespace railweave::replay_test {

using namespace perf::fsdp_replay;

namespace {

std::string refusal(const std::string& text) {
  auto trace = parse_trace(text, "t.json");
  return trace.ok() ? "" : trace.status().message();
}

TEST(Trace, parse__what_docs_replay_shows) {
  auto trace = parse_trace(
      R"({"schema": 1, "name": "tiny", "resident_bytes": 1000000, "optimizer_s": 0.001, "layers":
          [{"name": "block", "gather_bytes": 4000000, "forward_s": 0.002, "backward_s": 0.004}]})",
      "t.json");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->layers.size(), 1u);
  EXPECT_EQ(trace->layers[0].reduce_bytes, 4'000'000u);
  EXPECT_EQ(trace->computing(), milliseconds(6));
  EXPECT_EQ(trace->optimizer, milliseconds(1));
}

TEST(Trace, text__is_read_back_as_it_was) {
  const Trace trace = tiny_trace(3, milliseconds(2), Nanos(4'000'001));
  auto again = parse_trace(trace_text(trace), "t.json");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(trace_text(*again), trace_text(trace));
  EXPECT_EQ(again->layers[2].backward, Nanos(4'000'001));
}

TEST(Trace, parse__says_what_is_wrong_and_where) {
  EXPECT_EQ(refusal("{\n\n,"), "t.json: is no JSON from line 3 on");
  EXPECT_EQ(refusal("[]"), "t.json: found [], expected an object");
  EXPECT_EQ(refusal(R"({"schema": 2, "name": "a", "layers": []})"),
            "t.json: schema: found 2, expected a number from 1 to 1");
  EXPECT_EQ(refusal(R"({"schema": 1, "name": "a", "layers": []})"),
            "t.json: layers: found [], expected a list of objects");
  EXPECT_EQ(refusal(R"({"schema": 1, "name": "a", "layers": [{"name": "b", "gather_bytes": -1}]})"),
            "t.json: layers[0]: gather_bytes: found -1, expected a whole number from 0 to 1125899906842624");
  EXPECT_EQ(refusal(R"({"schema": 1, "name": "a", "layers": [{"name": "b", "gather_bytes": 0.9}]})"),
            "t.json: layers[0]: gather_bytes: found 0.9, expected a whole number from 0 to 1125899906842624");
  EXPECT_EQ(refusal(R"({"schema": 1, "name": "a", "layers": [{"name": "b", "gather": 1}]})"),
            "t.json: layers[0]: found the key 'gather', expected one of name, gather_bytes, reduce_bytes, kept, "
            "forward_s, backward_s");
  EXPECT_EQ(refusal(R"({"schema": 1, "name": "a", "layers": [{"name": "b", "gather_bytes": 1, "forward_s": "1"}]})"),
            "t.json: layers[0]: forward_s: found \"1\", expected a number from 0 to 100000");
}

TEST(Trace, parse__numbers_and_brackets_beyond_all_bounds) {
  EXPECT_EQ(refusal(R"({"schema": 1e999})"), "t.json: number overflow parsing '1e999'");
  const std::string open(100'000, '['), closed(100'000, ']');
  EXPECT_EQ(refusal(R"({"schema": 1, "name": )" + open + closed + "}"),
            "t.json: found more than 100 levels of brackets");
  EXPECT_EQ(refusal(open), "t.json: is no JSON from line 1 on");
}

TEST(Trace, read__a_folder) {
  const auto trace = read_trace("/tmp");
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.status().message(), "/tmp is a directory, expected a file");
}

TEST(Trace, read__a_file_that_is_not_there) {
  const auto trace = read_trace("/nonexistent/step.json");
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.status().code(), Code::system);
  EXPECT_NE(trace.status().message().find("/nonexistent/step.json"), std::string::npos);
}

TEST(Trace, write__what_would_not_be_read) {
  const std::string path = testing::TempDir() + "fsdp_replay_never_written.json";
  const Status status = write_trace(tiny_trace(1, std::chrono::seconds(200'000), milliseconds(0)), path);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), path + ": layers[0]: forward_s: found 200000.0, expected a number from 0 to 100000");
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A sample of 10^15 bytes, and a million of them.
TEST(Parameters, a_made_trace_beyond_all_memory__is_refused) {
  const Parameters p = committed_parameters();
  ModelShape model = p.models.at("7B");
  model.activation_bytes_per_sample = 1e15;
  const auto trace = make_trace("7B", model, 1e6, 8, p);
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.status().message(),
            "7B: found 1e+21 bytes of state and activations of a device, at batch 1000000, expected 1.13e+15 or less");
}

// A parameter has 2 bytes. The models' names give the sums.
TEST(Parameters, models__are_as_large_as_they_are_called) {
  const Parameters p = committed_parameters();
  for (const auto& [name, billions] :
       {std::pair{"7B", 6.7}, {"13B", 13.0}, {"34B", 33.7}, {"70B", 69.0}, {"T5-11B", 11.3}}) {
    double bytes = 0;
    for (const Layer& layer : made(name, 1, 8, p).layers) bytes += double(layer.gather_bytes);
    EXPECT_NEAR(bytes / 2e9, billions, 0.1 * billions / 7) << name;
  }
}

// 6 FLOPs per parameter and token, and 12 per position and width. The model's flops come from 3760 measured tokens/s.
TEST(Parameters, a_made_trace__computes_as_long_as_it_was_seen_to) {
  const Parameters p = committed_parameters();
  const Trace trace = made("7B", 2, 16, p);
  EXPECT_NEAR(2 * 4096 / (double(trace.computing().count()) / 1e9), 3760, 100);
}

// On a wire of one byte per second, 10^13 parameters take longer than Nanos can hold.
TEST(Published, a_wire_that_is_too_slow__is_refused) {
  Parameters p = committed_parameters();
  p.wire = Rate{1};
  p.scaling.cases.clear();
  p.communication_bound.parameters = 1e13;
  EXPECT_EQ(compare_published(p).status().code(), Code::invalid_argument);
}

// docs/guide/replay.md lists these values.
TEST(Published, every_case__comes_out_as_documented) {
  const Parameters p = committed_parameters();
  auto all = compare_published(p);
  ASSERT_TRUE(all.ok()) << all.status().message();
  const double documented[] = {0.35, 0.89, 0.98, 0.84, 0.74, 0.085, 0.0};
  ASSERT_EQ(all->size(), std::size(documented));
  for (std::size_t i = 0; i < all->size(); ++i) EXPECT_NEAR((*all)[i].value, documented[i], 0.005) << (*all)[i].name;
}

}  // namespace
}  // namespace railweave::replay_test
