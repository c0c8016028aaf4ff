#include "explain/dump_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace railweave::explain {
namespace {

using nlohmann::json;

constexpr std::size_t kTensorsMost = 64, kFramesMost = 64;
constexpr std::string_view kTitle = "railweave:";

Status refused(std::string message) { return Status(Code::invalid_argument, Scope::request, std::move(message)); }

// --- members of an object; a member that is missing or of another type is the default

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const json& object, const char* key) {
  const json* const value = member(object, key);
  return value && value->is_string() ? value->get<std::string>() : "";
}

std::int64_t number_of(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::int64_t(std::min(number, std::uint64_t(std::numeric_limits<std::int64_t>::max())));
  }
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::int64_t number_of(const json& object, const char* key) {
  const json* const value = member(object, key);
  return value ? number_of(*value) : 0;
}

std::uint64_t count_of(const json& object, const char* key) {
  return std::uint64_t(std::max<std::int64_t>(0, number_of(object, key)));
}

bool flag_of(const json& object, const char* key) {
  const json* const value = member(object, key);
  return value && value->is_boolean() && value->get<bool>();
}

// Returns the elements of a list; none of anything else.
const json& list_of(const json& object, const char* key) {
  static const json kNone = json::array();
  const json* const value = member(object, key);
  return value && value->is_array() ? *value : kNone;
}

// --- the parts of a dump

std::vector<Frame> frames_of(const json& object) {
  std::vector<Frame> frames;
  for (const json& frame : list_of(object, "frames")) {
    if (frames.size() == kFramesMost) break;
    const std::int64_t line = std::clamp<std::int64_t>(number_of(frame, "line"), 0, std::numeric_limits<int>::max());
    frames.push_back({text_of(frame, "name"), text_of(frame, "filename"), int(line)});
  }
  return frames;
}

RankList ranks_of(const json& group) {
  const json* const value = member(group, "ranks");
  if (value && value->is_object()) {
    const std::uint64_t from = count_of(*value, "from"), to = count_of(*value, "to");
    const std::uint64_t step = std::max<std::uint64_t>(1, count_of(*value, "step"));
    if (to < from || (to - from) / step >= kRanksMost) return {};
    return {from, step, std::size_t((to - from) / step + 1)};
  }
  std::vector<std::uint64_t> ranks;
  for (const json& rank : list_of(group, "ranks")) {
    const std::int64_t number = number_of(rank);
    if (!rank.is_number_integer() || number < 0 || ranks.size() == kRanksMost) return {};
    ranks.push_back(std::uint64_t(number));
  }
  return RankList(std::move(ranks));
}

Result<GroupRecord> group_of(const json& config, const json& status, const std::string& where) {
  GroupRecord group;
  group.name = text_of(config, "name");
  group.ranks = ranks_of(config);
  group.rank = std::size_t(count_of(config, "rank"));
  group.created_ns = number_of(config, "time_created_ns");
  if (group.rank >= group.ranks.size())
    return refused(fmt::format("{}: group '{}': found rank {}, expected one of {} ranks", where, group.name, group.rank,
                               group.ranks.size()));
  group.called = count_of(status, "last_enqueued_collective");
  group.completed = count_of(status, "last_completed_collective");
  if (const json* const error = member(status, "error")) {
    group.error_code = text_of(*error, "code");
    group.error_text = text_of(*error, "text");
  }
  return group;
}

std::vector<std::uint64_t> elements_of(const json& entry) {
  std::vector<std::uint64_t> all;
  for (const json& sizes : list_of(entry, "input_sizes")) {
    if (all.size() == kTensorsMost) break;
    std::uint64_t product = 1;
    if (sizes.is_array())
      for (const json& size : sizes) product *= std::uint64_t(number_of(size));
    all.push_back(product);
  }
  return all;
}

std::vector<std::size_t> awaited_of(const json& entry, const GroupRecord& group) {
  std::vector<std::size_t> awaited;
  for (const json& rank : list_of(entry, "waits_for")) {
    const std::int64_t number = number_of(rank);
    if (number >= 0 && std::size_t(number) < group.ranks.size() && awaited.size() < kRanksMost)
      awaited.push_back(std::size_t(number));
  }
  return awaited;
}

Operation operation_of(const json& entry, std::size_t index, const GroupRecord& group) {
  Operation operation;
  operation.group = index;
  operation.name = text_of(entry, "profiling_name");
  if (operation.name.starts_with(kTitle)) operation.name.erase(0, kTitle.size());
  operation.number = count_of(entry, "collective_seq_id");
  operation.is_message = flag_of(entry, "is_p2p");
  operation.peer = int(std::clamp<std::int64_t>(number_of(entry, "peer"), -1, kRanksMost));
  operation.over = flag_of(entry, "retired") || text_of(entry, "state") == "completed";
  operation.created_ns = number_of(entry, "time_created_ns");
  operation.elements = elements_of(entry);
  for (const json& dtype : list_of(entry, "input_dtypes"))
    if (dtype.is_string() && operation.dtypes.size() < kTensorsMost)
      operation.dtypes.push_back(dtype.get<std::string>());
  if (operation.over) return operation;
  operation.started = text_of(entry, "state") == "started";
  operation.awaited = awaited_of(entry, group);
  operation.call = text_of(entry, "call");
  operation.counts = count_of(entry, "counts");
  operation.part = count_of(entry, "part");
  operation.has_waiter = member(entry, "waiting_thread_id") != nullptr;
  operation.frames = frames_of(entry);
  return operation;
}

// Keeps the unfinished operations, and of each group the last kEndedMost others.
void take_operations(Dump& dump, const json& document, const std::map<std::int64_t, std::size_t>& index_of) {
  std::vector<std::size_t> ended(dump.groups.size());
  const json& entries = list_of(document, "entries");
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto index = index_of.find(number_of(*entry, "pg_id"));
    if (index == index_of.end()) continue;
    Operation operation = operation_of(*entry, index->second, dump.groups[index->second]);
    if (operation.over && ++ended[index->second] > Dump::kEndedMost) continue;
    dump.operations.push_back(std::move(operation));
  }
  std::ranges::reverse(dump.operations);
}

Result<json> parsed(std::string_view text, const std::string& where) {
  if (text.size() > kFileBytesMost)
    return refused(fmt::format("{}: found {} bytes, expected at most {}", where, text.size(), kFileBytesMost));
  bool too_deep = false;
  const auto within = [&](int depth, json::parse_event_t, json&) {
    return !(too_deep = too_deep || depth > kDepthMost);
  };
  json document = json::parse(text.begin(), text.end(), within, false);
  if (too_deep) return refused(fmt::format("{}: found more than {} levels of brackets", where, kDepthMost));
  if (document.is_discarded()) return refused(where + ": is no JSON");
  return document;
}

}  // namespace

Result<Dump> parse_dump(std::string_view text, const std::string& where) {
  RW_ASSIGN_OR_RETURN(const json document, parsed(text, where));
  if (text_of(document, "program") != "railweave")
    return refused(where + ": is no dump of Railweave: expected the member \"program\": \"railweave\"");
  const std::string version = text_of(document, "version");
  if (!version.starts_with("1."))
    return refused(fmt::format("{}: found a dump of version '{}', expected 1.x", where, version));
  Dump dump;
  dump.file = where;
  dump.reason = text_of(document, "reason");
  dump.why = text_of(document, "why");
  dump.host = text_of(document, "host");
  dump.pid = int(std::clamp<std::int64_t>(number_of(document, "pid"), 0, std::numeric_limits<int>::max()));
  dump.time_ns = number_of(document, "time_ns");
  dump.stacks_known = flag_of(document, "stacks_known");
  for (const json& thread : list_of(document, "threads"))
    if (dump.main.empty() && flag_of(thread, "main")) dump.main = frames_of(thread);
  std::map<std::int64_t, std::size_t> index_of;  // by pg_id
  std::size_t places = 0;
  const json *const config = member(document, "pg_config"), *const status = member(document, "pg_status");
  if (config == nullptr || !config->is_object() || config->empty())
    return refused(where + ": found no process group in the member \"pg_config\"");
  for (const auto& [id, group] : config->items()) {
    const json* const its_status = status ? member(*status, id.c_str()) : nullptr;
    RW_ASSIGN_OR_RETURN(GroupRecord record, group_of(group, its_status ? *its_status : json(), where));
    if ((places += record.ranks.size()) > kPlacesMost)
      return refused(fmt::format("{}: found more than {} ranks in all groups together", where, kPlacesMost));
    std::int64_t number = -1;
    (void)std::from_chars(id.data(), id.data() + id.size(), number);
    index_of.emplace(number, dump.groups.size());
    dump.groups.push_back(std::move(record));
  }
  take_operations(dump, document, index_of);
  return dump;
}

Result<Dump> read_dump(const std::string& path) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // does not wait for a pipe's writer
  if (!file) return system_error(Scope::request, path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error(Scope::request, path);
  if (!S_ISREG(info.st_mode)) return refused(path + ": expected a regular file");
  if (std::uint64_t(info.st_size) > kFileBytesMost)
    return refused(fmt::format("{}: found {} bytes, expected at most {}", path, info.st_size, kFileBytesMost));
  std::string text(kFileBytesMost + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + bytes, text.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(Scope::request, path);
    if (got == 0) break;
    bytes += std::size_t(got);
  }
  text.resize(bytes);
  return parse_dump(text, path);
}

}  // namespace railweave::explain
