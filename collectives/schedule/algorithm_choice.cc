#include "collectives/schedule/algorithm_choice.h"

#include <algorithm>
#include <string>

#include "collectives/schedule/algorithm.h"

namespace railweave::collectives {
namespace {

struct Entry {
  std::string_view operation;  // empty: every operation
  std::string_view algorithm;
  bool names(const Algorithm& one) const {
    return one.name == algorithm && (operation.empty() || operation == name(one.operation));
  }
};

// Removes the first entry from the list and returns it.
Entry next_entry(std::string_view& rest) {
  const std::size_t comma = rest.find(',');
  const std::string_view text = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return {{}, text};  // "=ring" matches no algorithm
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string all_choices() {
  std::string text;
  for (int o = 0; o < kOperations; ++o) {
    const auto operation = Operation(o);
    std::string names;
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.operation != operation) continue;
      names += (names.empty() ? "" : "|") + std::string(algorithm.name);
    }
    text += (text.empty() ? "" : ", ") + std::string(name(operation)) + "=" + names;
  }
  return text;
}

}  // namespace

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::all_gather: return "all_gather";
    case Operation::reduce_scatter: return "reduce_scatter";
    case Operation::all_reduce: return "all_reduce";
    case Operation::broadcast: return "broadcast";
    case Operation::reduce: return "reduce";
    case Operation::gather: return "gather";
    case Operation::scatter: return "scatter";
    case Operation::all_to_all: return "all_to_all";
    case Operation::barrier: return "barrier";
  }
  return "?";
}

std::string_view chosen_name(std::string_view named, Operation operation) {
  std::string_view chosen;
  while (!named.empty()) {
    const Entry entry = next_entry(named);
    for (const Algorithm& algorithm : algorithms())
      if (algorithm.operation == operation && entry.names(algorithm)) chosen = entry.algorithm;
  }
  return chosen;
}

Status check_algorithm_choice(std::string_view named) {
  const auto refused = [named](const std::string& why) {
    return Status(
        Code::invalid_config, Scope::engine,
        "RAILWEAVE_ALGO: found '" + std::string(named) + "': no algorithm " + why + "; there are " + all_choices());
  };
  if (named.ends_with(',')) return refused("after the last comma");
  for (std::string_view rest = named; !rest.empty();) {
    const Entry entry = next_entry(rest);
    const auto all = algorithms();
    if (std::any_of(all.begin(), all.end(), [&](const Algorithm& one) { return entry.names(one); })) continue;
    const std::string text =
        (entry.operation.empty() ? "" : std::string(entry.operation) + "=") + std::string(entry.algorithm);
    return refused("\"" + text + "\"");
  }
  return {};
}

}  // namespace railweave::collectives
