#include "collective/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace railweave::perf::collective {
namespace {

struct Parsed {
  std::optional<Options> options;
  int exit_status = -1;
  std::string errors;
};

Parsed parse(std::vector<std::string> words) {
  words.insert(words.begin(), "all_reduce_perf");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Parsed parsed;
  testing::internal::CaptureStderr();
  parsed.options = parse_options(int(words.size()), argv.data(), "about", parsed.exit_status);
  parsed.errors = testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(Options, defaults_are_those_of_the_reference) {
  const auto parsed = parse({});
  ASSERT_TRUE(parsed.options) << parsed.errors;
  const Options& o = *parsed.options;
  EXPECT_EQ(o.ranks_here(), 1);
  EXPECT_EQ(o.min_bytes, 32u << 20);
  EXPECT_EQ(o.max_bytes, 32u << 20);
  EXPECT_EQ(o.step_bytes, 1u << 20);
  EXPECT_EQ(o.iterations, 20);
  EXPECT_EQ(o.warmup, 1);
  EXPECT_EQ(o.checks, 1);
  EXPECT_EQ(o.average, 1);
  EXPECT_EQ(o.types, std::vector<DataType>{DataType::float32});
  EXPECT_EQ(o.reductions, std::vector<Reduction>{Reduction::sum});
}

TEST(Options, every_option_of_the_reference_parses_short_and_long) {
  const auto parsed =
      parse({"-t", "2",  "-g2", "-b", "8",  "-e", "1K", "-i", "8",   "-f", "2",      "-n", "3",  "-w", "0", "-m",
             "4",  "-N", "2",   "-p", "1",  "-c", "0",  "-o", "max", "-d", "half",   "-r", "-1", "-z", "1", "-y",
             "0",  "-T", "9",   "-G", "0",  "-C", "1",  "-S", "1",   "-J", "x.json", "-a", "3",  "-R", "0", "-x",
             "0",  "-D", "0",   "-V", "16", "-M", "0",  "-u", "1",   "-I", "1",      "-K", "1"});
  ASSERT_TRUE(parsed.options) << parsed.errors;
  EXPECT_EQ(parsed.options->ranks_here(), 4);
  EXPECT_EQ(parsed.options->root, -1);
  EXPECT_TRUE(parsed.options->cpu_time && parsed.options->timestamps && parsed.options->per_iteration);
  const auto longer =
      parse({"--nthreads", "2", "--minbytes=8", "--maxbytes=16", "--stepfactor", "2", "--iters", "1", "--warmup_iters",
             "1", "--agg_iters", "1", "--check", "1", "--op", "all", "--datatype", "all"});
  ASSERT_TRUE(longer.options) << longer.errors;
  EXPECT_EQ(longer.options->types.size(), 12u);
  EXPECT_EQ(longer.options->reductions.size(), 6u);
}

TEST(Options, options_without_meaning_on_host_memory_are_refused_by_name) {
  const std::pair<const char*, const char*> cases[] = {{"-y", "1"}, {"-G", "1"}, {"-R", "1"}, {"-x", "2"},
                                                       {"-D", "1"}, {"-V", "8"}, {"-M", "1"}};
  for (const auto& [option, value] : cases) {
    const auto parsed = parse({option, value});
    EXPECT_FALSE(parsed.options);
    EXPECT_EQ(parsed.exit_status, 2);
    EXPECT_NE(parsed.errors.find(option), std::string::npos) << parsed.errors;
    EXPECT_EQ(parsed.errors.find('\n'), parsed.errors.size() - 1) << parsed.errors;
  }
}

TEST(Options, nonsense_is_refused_by_name_in_one_line) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {{{"-b", "1Q"}, "--minbytes"},
                                                                    {{"-d", "float7"}, "float7"},
                                                                    {{"-o", "nope"}, "nope"},
                                                                    {{"-b", "64M"}, "--maxbytes"},
                                                                    {{"-b", "1", "-e", "2", "-i", "0"}, "--stepbytes"},
                                                                    {{"-r", "x"}, "--root"},
                                                                    {{"--nope"}, "--nope"},
                                                                    {{"-n", "0"}, "iters"},
                                                                    {{"--patience", "nan"}, "--patience: found 'nan'"},
                                                                    {{"--patience", "-1"}, "from 0 to 3600"},
                                                                    {{"--min-bandwidth", "nan"}, "--min-bandwidth"},
                                                                    {{"-J", ""}, "--output_file"},
                                                                    {{"-C", "2"}, "--report_cputime"},
                                                                    {{"-t", "1024", "-g", "2"}, "found 2048"},
                                                                    {{"--rank", "-3"}, "--rank"},
                                                                    {{"--local", "2", "--rank", "1"}, "--rank"},
                                                                    {{"--local=2", "--rank=1"}, "--local"}};
  for (const auto& [words, named] : cases) {
    const auto parsed = parse(words);
    EXPECT_FALSE(parsed.options);
    EXPECT_EQ(parsed.exit_status, 2);
    EXPECT_NE(parsed.errors.find(named), std::string::npos) << parsed.errors;
    EXPECT_EQ(parsed.errors.find('\n'), parsed.errors.size() - 1) << parsed.errors;
  }
}

TEST(Options, sizes_step_by_factor_or_by_bytes) {
  Options o;
  EXPECT_EQ(o.after(8), 8 + (1u << 20));
  o.step_factor = 2;
  EXPECT_EQ(o.after(8), 16u);
  EXPECT_EQ(o.after(0), 1u);
}

}  // namespace
}  // namespace railweave::perf::collective
