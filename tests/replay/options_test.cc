#include "fsdp_replay/options.h"

#include "tiny.h"

namespace railweave::replay_test {

using perf::fsdp_replay::check_option_words;
using perf::fsdp_replay::Options;

namespace {

std::string refusal(const std::vector<const char*>& words) { return check_option_words(words).message(); }

TEST(Options, what_would_mean_nothing__is_refused) {
  for (const char* const word : {"--model", "--trace", "--random", "--hosts", "--batch", "--wire-gbps", "--bound",
                                 "--write-trace", "--policy", "--limiter", "--one-line", "--mode"})
    EXPECT_EQ(refusal({"--published", word}),
              std::string(word) + ": found together with --published, expected only one of the two");
  for (const char* const word : {"--json", "--wire-gbps", "--bound", "--policy", "--limiter", "--one-line", "--mode"})
    EXPECT_EQ(refusal({"--model", "7B", "--write-trace", "x", word}),
              std::string(word) + ": found together with --write-trace, expected only one of the two");
  for (const char* const word : {"--policy", "--limiter", "--one-line", "--mode"})
    EXPECT_EQ(refusal({"--bound", word}),
              std::string(word) + ": found together with --bound, expected only one of the two");
  EXPECT_TRUE(check_option_words(std::vector<const char*>{"--published", "--json", "x", "--parameters", "y"}).ok());
  EXPECT_TRUE(check_option_words(std::vector<const char*>{"--trace", "x", "--hosts", "2", "--bound", "--wire-gbps", "1",
                                                          "--json", "y"})
                  .ok());
}

TEST(Options, a_batch_of_no_model__is_refused) {
  Options options;
  options.random = 1;
  options.batch = 2;
  EXPECT_EQ(options.resolve().message(), "--batch: found without --model, expected both: traces have theirs");
}

TEST(Options, segments__have_their_most_hosts) {
  Options options;
  options.random = 1;
  options.mode_text = "segments";
  options.hosts = {17};
  EXPECT_EQ(options.resolve().message(), "--mode: segments are played on up to 16 hosts, found 17 of --hosts");
}

}  // namespace
}  // namespace railweave::replay_test
