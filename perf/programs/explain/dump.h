// A dump of one rank as `railweave explain` keeps it (docs/internals/packages.md has the file's form). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/rank_list.h"

namespace railweave::explain {

struct Frame {
  std::string name, filename;
  int line = 0;
};

struct Operation {
  std::size_t group = 0;     // index in Dump::groups
  std::string name;          // "all_reduce"
  std::uint64_t number = 0;  // of a collective, in its group, from 1
  bool is_message = false;
  int peer = 0;       // of a message: rank of the group; negative: any
  bool over = false;  // completed, or failed
  std::int64_t created_ns = 0;
  std::vector<std::uint64_t> elements;  // of each tensor that was kept
  std::vector<std::string> dtypes;      // likewise
  // --- of an unfinished operation
  bool started = false;
  std::vector<std::size_t> awaited;  // ranks of the group
  std::string call;                  // empty: not known
  std::uint64_t counts = 0, part = 0;
  bool has_waiter = false;    // a Python thread waits for it
  std::vector<Frame> frames;  // of that thread, the innermost first
};

struct GroupRecord {
  std::string name;
  RankList ranks;
  std::size_t rank = 0;  // of the process, in the group
  std::int64_t created_ns = 0;
  std::uint64_t called = 0;            // number of the last collective that was called
  std::uint64_t completed = 0;         // number of the last collective that was completed
  std::string error_code, error_text;  // empty: the group works
};

struct Dump {
  std::string file, reason, why, host;
  int pid = 0;
  std::int64_t time_ns = 0;
  std::vector<GroupRecord> groups;  // at least one
  std::vector<Operation>
      operations;           // the unfinished ones and, of each group, the last kEndedMost others; oldest first
  std::vector<Frame> main;  // of the main thread, the innermost first; empty: not known
  bool stacks_known = false;

  static constexpr std::size_t kEndedMost = 16;
  // The process's global rank.
  std::uint64_t rank() const { return groups.front().ranks[groups.front().rank]; }
};

}  // namespace railweave::explain
