// The shared object: its dependencies, its exported symbols, and that it can be loaded and stopped repeatedly.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include "tests/nccl/library.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"
#include "tests/nccl/versions.h"
#include "tests/sanitizers.h"

namespace railweave::nccl_test {
namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = popen(command.c_str(), "r");
  char chunk[4096];
  while (pipe && std::fgets(chunk, sizeof chunk, pipe)) text += chunk;
  if (!pipe || pclose(pipe) != 0) ADD_FAILURE() << "failed: " << command;
  return text;
}

std::set<std::string> between_brackets(const std::string& text, const std::string& line_with) {
  std::set<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(line_with) != std::string::npos)
      found.insert(line.substr(line.find('[') + 1, line.find(']') - line.find('[') - 1));
  return found;
}

int entries_in(const char* directory) {
  DIR* const open_directory = opendir(directory);
  int count = 0;
  while (readdir(open_directory)) ++count;
  closedir(open_directory);
  return count;
}

// Waits until `directory` has `count` entries. A joined thread stays in /proc for a moment: the kernel wakes the
// joining thread before it removes the entry.
bool settles_at(int count, const char* directory) {
  for (int i = 0; i < 500 && entries_in(directory) != count; ++i) usleep(10'000);
  return entries_in(directory) == count;
}

TEST(SharedObject, needs_only_the_c_library) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer brings its own libraries";
  const std::set<std::string> allowed{"libc.so.6",
                                      "libm.so.6",
                                      "libpthread.so.0",
                                      "libdl.so.2",
                                      "librt.so.1",
                                      "ld-linux-x86-64.so.2",
                                      "ld-linux-aarch64.so.1"};
  const auto needed = between_brackets(output_of("readelf -d " + options().plugin), "(NEEDED)");
  EXPECT_FALSE(needed.empty());
  for (const std::string& library : needed) EXPECT_TRUE(allowed.count(library)) << library;
}

TEST(SharedObject, exports_only_nccls_symbols) {
  std::set<std::string> expected, found;
  for (int version = abi::kOldestVersion; version <= abi::kNewestVersion; ++version)
    expected.insert(any_net::symbol_of(version));
  std::istringstream lines(output_of("nm -D --defined-only " + options().plugin));
  for (std::string line; std::getline(lines, line);) found.insert(line.substr(line.rfind(' ') + 1));
  EXPECT_EQ(found, expected);
}

TEST(SharedObject, is_bound_at_load_and_never_unmapped) {
  const std::string dynamic = output_of("readelf -d " + options().plugin);
  EXPECT_NE(dynamic.find("NODELETE"), std::string::npos);
  EXPECT_NE(dynamic.find("NOW"), std::string::npos);
}

TEST(SharedObject, is_named_as_nccl_selects_it) {
  const Library library(options().plugin);
  for (int version = abi::kOldestVersion; version <= abi::kNewestVersion; ++version)
    EXPECT_STREQ(library.net(version)->name(), "Railweave");
  // The name must be no prefix of "static_plugin": for such a name NCCL searches the main program.
  const std::string entry = "railweave", reserved = "static_plugin";
  EXPECT_NE(reserved.substr(0, entry.size()), entry);
  EXPECT_NE(options().plugin.find("libnccl-net-" + entry), std::string::npos);
}

class SharedObjectOf : public testing::TestWithParam<int> {};

TEST_P(SharedObjectOf, loads_and_unloads_twice) {
  clear_captured_log();
  for (int round = 0; round < 2; ++round) {
    const Library library(options().plugin);
    const auto net = library.net(GetParam());
    void* context = nullptr;
    ASSERT_EQ(net->init(&context, -1, capture_log), abi::kSuccess) << warnings_text();
    int devices = 0;
    EXPECT_EQ(net->devices(&devices), abi::kSuccess);
    EXPECT_GE(devices, 1);
    EXPECT_EQ(net->finalize(context), abi::kSuccess);
  }
  EXPECT_EQ(warnings_text(), "");
}

TEST_P(SharedObjectOf, the_last_finalize_leaves_no_thread_and_no_descriptor) {
  const Library library(options().plugin);
  const auto net = library.net(GetParam());
  if (!net->has_context()) GTEST_SKIP() << "this version has no finalize";
  const int threads = entries_in("/proc/self/task");
  void* context = nullptr;
  ASSERT_EQ(net->init(&context, -1, capture_log), abi::kSuccess);  // opens everything that stays open for good
  ASSERT_EQ(net->finalize(context), abi::kSuccess);
  const int descriptors = entries_in("/proc/self/fd");
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(net->init(&context, -1, capture_log), abi::kSuccess);
    ASSERT_EQ(net->finalize(context), abi::kSuccess);
  }
  EXPECT_TRUE(settles_at(threads, "/proc/self/task")) << entries_in("/proc/self/task") << " instead of " << threads;
  EXPECT_TRUE(settles_at(descriptors, "/proc/self/fd")) << entries_in("/proc/self/fd") << " instead of " << descriptors;
}

TEST_P(SharedObjectOf, says_nothing_but_through_the_logger) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  clear_captured_log();
  {
    const Library library(options().plugin);
    const auto net = library.net(GetParam());
    void* context = nullptr;
    EXPECT_EQ(net->init(&context, -1, capture_log), abi::kSuccess);
    EXPECT_EQ(net->finalize(context), abi::kSuccess);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  for (const LogLine& line : captured_log()) {
    EXPECT_EQ(line.text.rfind("NET/Railweave : ", 0), 0u) << line.text;
    EXPECT_EQ(line.text.find('\n'), std::string::npos) << line.text;
    EXPECT_NE(line.level, abi::kLogWarn) << line.text;
  }
}

INSTANTIATE_TEST_SUITE_P(, SharedObjectOf, all_versions(), version_name);

}  // namespace
}  // namespace railweave::nccl_test
