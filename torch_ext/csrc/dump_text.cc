#include "torch_ext/csrc/dump_text.h"

#include <c10/core/ScalarType.h>
#include <c10/util/ApproximateClock.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "torch_ext/csrc/json_text.h"

namespace railweave::torch_ext {
namespace {

constexpr std::size_t kStackBytesMost = 64 * KiB, kGroupBytesMost = 96 * KiB;
constexpr std::size_t kListedRanksMost = 1024, kAwaitedMost = 64;
constexpr std::size_t kNameMost = 160, kErrorMost = 2048;

using Phase = OperationState::Phase;

// Times of CLOCK_MONOTONIC as times of the calendar, nanoseconds.
class Calendar {
 public:
  Calendar() : ahead_(std::int64_t(c10::getTime()) - now().time_since_epoch().count()) {}
  std::int64_t of(TimePoint t) const { return t.time_since_epoch().count() + ahead_; }

 private:
  const std::int64_t ahead_;
};

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::scheduled: return "scheduled";
    case Phase::started: return "started";
    default: return "completed";
  }
}

const char* name_of(Code code) {
  switch (code) {
    case Code::timed_out: return "timed_out";
    case Code::truncated: return "mismatch";
    case Code::remote: return "remote";
    case Code::left: return "left";
    case Code::cancelled: return "cancelled";
    case Code::system: return "system";
    default: return "other";
  }
}

// Global ranks. Many evenly spaced ranks are written as their first, last and distance.
void append_ranks(std::string& to, const std::vector<std::uint64_t>& ranks) {
  if (ranks.size() < kListedRanksMost) return append_numbers(to, ranks);
  const std::uint64_t step = ranks[1] - ranks[0];
  const auto uneven = [step](std::uint64_t a, std::uint64_t b) { return b - a != step; };
  if (std::ranges::adjacent_find(ranks, uneven) != ranks.end()) return append_numbers(to, ranks);
  to += '{';
  append_member(to, "from", ranks.front());
  append_member(to, "to", ranks.back());
  append_member(to, "step", step);
  to += '}';
}

void append_frames(std::string& to, const std::vector<PythonFrame>& frames) {
  begin_member(to, "frames");
  append_list(to, frames, [](std::string& at, const PythonFrame& frame) {
    at += '{';
    append_member(at, "name", frame.name, kNameMost);
    append_member(at, "filename", frame.filename, kNameMost);
    append_member(at, "line", frame.line);
    at += '}';
  });
}

std::string threads_text(const PythonStacks& stacks) {
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for (const PythonThread& thread : stacks.threads) {
    std::string text = "{";
    append_member(text, "thread_id", thread.id);
    append_member(text, "main", thread.main);
    append_frames(text, thread.frames);
    text += '}';
    if ((bytes += text.size() + 2) > kStackBytesMost) break;
    texts.push_back(std::move(text));
  }
  std::string all;
  append_list(all, texts, [](std::string& at, const std::string& text) { at += text; });
  return all;
}

void append_shapes(std::string& to, const std::string& which, const TensorShapes& shapes) {
  std::vector<std::size_t> kept(shapes.kept());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i;
  begin_member(to, which + "_sizes");
  append_list(to, kept, [&](std::string& at, std::size_t i) { append_numbers(at, shapes.sizes(i)); });
  begin_member(to, which + "_dtypes");
  append_list(to, kept, [&](std::string& at, std::size_t i) { append_quoted(at, c10::toString(shapes.dtype(i))); });
  if (shapes.tensors() > shapes.kept()) append_member(to, which + "_tensors", shapes.tensors());
}

void append_unfinished(std::string& to, const OperationState& state, const PythonStacks& stacks) {
  std::vector<int> awaited = state.awaited;
  if (awaited.size() > kAwaitedMost) awaited.resize(kAwaitedMost);
  begin_member(to, "waits_for");
  append_numbers(to, awaited);
  if (state.awaited.size() > awaited.size()) append_member(to, "waits_for_ranks", state.awaited.size());
  if (!state.call.empty()) {
    append_member(to, "call", state.call, kNameMost);
    append_member(to, "counts", state.counts);
    append_member(to, "part", state.part);
  }
  if (state.waiter == 0) return;
  append_member(to, "waiting_thread_id", state.waiter);
  const auto thread = std::ranges::find(stacks.threads, state.waiter, &PythonThread::id);
  if (thread != stacks.threads.end()) append_frames(to, thread->frames);
}

std::string entry_text(std::size_t group, const GroupState& of, const OperationState& state, const Dump& dump,
                       const Calendar& calendar) {
  const OperationRecord& record = state.record;
  std::string text = "{";
  append_member(text, "pg_id", group);
  begin_member(text, "pg_name");
  append_list(text, std::array{of.identity.name, of.description},
              [](std::string& at, const std::string& name) { append_quoted(at, name, kNameMost); });
  append_member(text, "collective_seq_id", record.collectives);
  append_member(text, "p2p_seq_id", record.messages);
  append_member(text, "op_id", record.id);
  append_member(text, "is_p2p", record.is_message());
  if (record.peer != OperationRecord::kNoPeer) append_member(text, "peer", record.peer);
  append_member(text, "profiling_name", record.title);
  append_shapes(text, "input", record.inputs);
  append_shapes(text, "output", record.outputs);
  append_member(text, "state", name_of(state.phase));
  append_member(text, "retired", state.retired);
  append_member(text, "time_created_ns", calendar.of(record.called));
  append_member(text, "timeout_ms", record.timeout_ms);
  if (state.retired) {
    append_member(text, "time_discovered_completed_ns", calendar.of(record.over));
  } else {
    append_unfinished(text, state, dump.stacks);
  }
  return text + '}';
}

// Returns the group's member of "pg_config".
std::string config_text(std::size_t number, const GroupState& group, const Calendar& calendar) {
  std::string text;
  begin_member(text, std::to_string(number));
  text += '{';
  append_member(text, "name", group.identity.name, kNameMost);
  append_member(text, "desc", group.description, kNameMost);
  append_member(text, "rank", group.identity.rank);
  append_member(text, "time_created_ns", calendar.of(group.identity.created));
  begin_member(text, "ranks");
  append_ranks(text, group.identity.ranks);
  return text + '}';
}

// Returns the group's member of "pg_status".
std::string status_text(std::size_t number, const GroupState& group) {
  std::uint64_t called = 0, completed = 0;
  for (const OperationState& state : group.operations) {
    called = std::max(called, state.record.collectives);
    if (state.phase == Phase::completed) completed = std::max(completed, state.record.collectives);
  }
  std::string text;
  begin_member(text, std::to_string(number));
  text += '{';
  append_member(text, "last_enqueued_collective", called);
  append_member(text, "last_completed_collective", completed);
  if (group.error != Code::ok) {
    begin_member(text, "error");
    text += '{';
    append_member(text, "code", name_of(group.error));
    append_member(text, "text", group.error_text, kErrorMost);
    text += '}';
  }
  return text + '}';
}

bool has_unfinished(const GroupState& group) {
  return std::ranges::any_of(group.operations, [](const OperationState& state) { return !state.retired; });
}

// Members "pg_config" and "pg_status" of as many groups as have room, those with unfinished operations first.
struct GroupsText {
  GroupsText(const std::vector<GroupState>& groups, const Calendar& calendar) : written(groups.size()) {
    std::size_t bytes = 0;
    for (const bool unfinished : {true, false}) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (has_unfinished(groups[i]) != unfinished) continue;
        const std::string one = config_text(i, groups[i], calendar), its_status = status_text(i, groups[i]);
        if (bytes + one.size() + its_status.size() > kGroupBytesMost) continue;
        bytes += one.size() + its_status.size();
        config += (config.empty() ? "" : ", ") + one;
        status += (status.empty() ? "" : ", ") + its_status;
        written[i] = true;
      }
    }
  }
  std::vector<bool> written;  // by group
  std::string config, status;
};

struct Entry {
  TimePoint called;
  bool over;
  std::string text;
};

// Keeps as many as fit into `room` bytes: the unfinished ones from the oldest on, then the others from the newest on.
// Returns them in the order of their calls.
std::vector<Entry> fitting(std::vector<Entry> entries, std::size_t room) {
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    if (a.over != b.over) return b.over;
    return a.over ? a.called > b.called : a.called < b.called;
  });
  std::size_t kept = 0;
  for (std::size_t bytes = 0; kept < entries.size(); ++kept)
    if ((bytes += entries[kept].text.size() + 3) > room) break;
  entries.resize(kept);
  std::ranges::stable_sort(entries, {}, &Entry::called);
  return entries;
}

}  // namespace

std::string dump_text(const Dump& dump) {
  constexpr std::size_t kRest = 1 * KiB;  // for names of members and for numbers
  const Calendar calendar;
  const GroupsText groups(dump.groups, calendar);
  const std::string threads = threads_text(dump.stacks);
  std::vector<Entry> entries;
  std::size_t all = 0;
  for (std::size_t i = 0; i < dump.groups.size(); ++i) {
    all += dump.groups[i].operations.size();
    if (!groups.written[i]) continue;
    for (const OperationState& state : dump.groups[i].operations)
      entries.push_back({state.record.called, state.retired, entry_text(i, dump.groups[i], state, dump, calendar)});
  }
  std::string text = "{";
  append_member(text, "version", "1.0");
  append_member(text, "program", "railweave");
  append_member(text, "reason", std::string_view(dump.reason));
  append_member(text, "why", dump.why, kErrorMost);
  append_member(text, "host", dump.host, kNameMost);
  const std::size_t taken = kRest + text.size() + groups.config.size() + groups.status.size() + threads.size();
  entries = fitting(std::move(entries), kDumpBytesMost - std::min(kDumpBytesMost, taken));
  append_member(text, "pid", dump.pid);
  append_member(text, "time_ns", calendar.of(now()));
  append_member(text, "groups_left_out", std::ranges::count(groups.written, false));
  append_member(text, "entries_left_out", all - entries.size());
  append_member(text, "stacks_known", dump.stacks.known);
  text +=
      ",\n\"pg_config\": {" + groups.config + "},\n\"pg_status\": {" + groups.status + "},\n\"threads\": " + threads;
  text += ",\n\"entries\": ";
  append_list(text, entries, [](std::string& at, const Entry& entry) { (at += '\n') += entry.text; });
  return text + "}\n";
}

}  // namespace railweave::torch_ext
