#include "explain/dump_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace railweave::explain {
namespace {

constexpr const char* kHead = R"({"version": "1.0", "program": "railweave", "reason": "timeout", "why": "w",
  "host": "h", "pid": 7, "time_ns": 9, "stacks_known": true, "ours": "from a later version",
  "pg_config": {"0": {"name": "dp", "desc": "d", "rank": 1, "time_created_ns": 5, "ranks": [2, 3, 9]}},
  "pg_status": {"0": {"last_enqueued_collective": 4, "last_completed_collective": 3,
                      "error": {"code": "timed_out", "text": "t"}}},
  "threads": [{"thread_id": 1, "main": true, "frames": [{"name": "f", "filename": "a.py", "line": 3}]}], "entries": )";

constexpr const char* kEntry = R"({"pg_id": 0, "collective_seq_id": 4, "p2p_seq_id": 0, "is_p2p": false,
  "profiling_name": "railweave:all_reduce", "input_sizes": [[2, 3], []], "input_dtypes": ["Float", "Int"],
  "state": "started", "retired": false, "waits_for": [0, 2, 3, -1], "call": "c", "counts": 11, "part": 1,
  "waiting_thread_id": 1, "frames": []})";

std::string document(const std::string& entries) { return kHead + entries + "}"; }

std::string error_of(const std::string& text) {
  auto dump = parse_dump(text, "x");
  return dump.ok() ? "no error" : dump.status().message();
}

void expect_error(const std::string& part, const std::string& text) {
  EXPECT_NE(std::string::npos, error_of(text).find(part)) << error_of(text);
}

TEST(DumpReader, takes_what_explain_needs) {
  auto dump = parse_dump(document(std::string("[") + kEntry + "]"), "x");
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  EXPECT_EQ(3u, dump->rank());
  EXPECT_EQ("timed_out", dump->groups[0].error_code);
  EXPECT_EQ(4u, dump->groups[0].called);
  EXPECT_EQ(3, dump->main.at(0).line);
  ASSERT_EQ(1u, dump->operations.size());
  const Operation& operation = dump->operations[0];
  EXPECT_EQ("all_reduce", operation.name);
  EXPECT_EQ((std::vector<std::uint64_t>{6, 1}), operation.elements);
  EXPECT_EQ((std::vector<std::size_t>{0, 2}), operation.awaited);  // the others are no ranks of the group
  EXPECT_TRUE(operation.started && operation.has_waiter && !operation.over);
}

TEST(DumpReader, keeps_the_last_operations_that_are_over) {
  std::string entries;
  for (int number = 1; number <= 40; ++number)
    entries += std::string(number == 1 ? "" : ",") + R"({"pg_id": 0, "state": "completed", "collective_seq_id": )" +
               std::to_string(number) + "}";
  auto dump = parse_dump(document("[" + entries + "," + kEntry + "]"), "x");
  ASSERT_TRUE(dump.ok());
  ASSERT_EQ(Dump::kEndedMost + 1, dump->operations.size());
  EXPECT_EQ(40 - Dump::kEndedMost + 1, dump->operations[0].number);
}

TEST(DumpReader, takes_evenly_spaced_ranks_by_their_ends) {
  std::string text = document("[]");
  const std::string listed = "[2, 3, 9]";
  text.replace(text.find(listed), listed.size(), R"({"from": 2, "to": 65000, "step": 2})");
  auto dump = parse_dump(text, "x");
  ASSERT_TRUE(dump.ok());
  EXPECT_EQ(32500u, dump->groups[0].ranks.size());
  EXPECT_EQ(4u, dump->rank());
  EXPECT_EQ(1u, dump->groups[0].ranks.index_of(4));
  EXPECT_FALSE(dump->groups[0].ranks.index_of(5).has_value());
}

TEST(DumpReader, refuses_what_is_no_dump) {
  expect_error("is no JSON", "");
  expect_error("is no JSON", document("["));
  expect_error("is no dump of Railweave", "[]");
  expect_error("is no dump of Railweave", R"({"program": 7})");
  expect_error("version '2.0', expected 1.x", R"({"program": "railweave", "version": "2.0"})");
  expect_error("no process group", R"({"program": "railweave", "version": "1.0", "pg_config": {}})");
  expect_error("found rank 1, expected one of 0 ranks",
               R"({"program": "railweave", "version": "1.0", "pg_config": {"0": {"rank": 1, "ranks": [-1]}}})");
}

TEST(DumpReader, refuses_deep_and_large_texts) {
  expect_error("more than 16 levels", document(std::string(40, '[') + std::string(40, ']')));
  expect_error("more than 16 levels", std::string(100'000, '['));
  expect_error("expected at most 262144", std::string(kFileBytesMost + 1, ' '));
}

TEST(DumpReader, bounds_the_ranks_of_all_groups_together) {
  const auto with_groups = [](int groups) {
    std::string config;
    for (int id = 0; id < groups; ++id)
      config += (id ? "," : "") + std::string("\"") + std::to_string(id) +
                R"(": {"rank": 0, "ranks": {"from": 0, "to": 65535}})";
    return R"({"program": "railweave", "version": "1.0", "pg_config": {)" + config + "}}";
  };
  EXPECT_EQ("no error", error_of(with_groups(64)));
  expect_error("more than 4194304 ranks in all groups together", with_groups(65));
}

TEST(DumpReader, reads_regular_files_only) {
  const std::string folder = testing::TempDir() + "railweave-dumps";
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/good") << document("[]");
  std::filesystem::resize_file(folder + "/good", std::filesystem::file_size(folder + "/good"));
  EXPECT_TRUE(read_dump(folder + "/good").ok());
  EXPECT_FALSE(read_dump(folder).ok());
  EXPECT_FALSE(read_dump(folder + "/none").ok());
  ASSERT_EQ(0, ::mkfifo((folder + "/pipe").c_str(), 0600));
  EXPECT_FALSE(read_dump(folder + "/pipe").ok());
  std::ofstream(folder + "/large") << "x";
  std::filesystem::resize_file(folder + "/large", kFileBytesMost + 1);
  EXPECT_NE(std::string::npos, read_dump(folder + "/large").status().message().find("expected at most"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace railweave::explain
