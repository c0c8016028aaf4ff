#include "explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "explain/rank_text.h"
#include "explain/waits.h"
#include "info/text_table.h"

namespace railweave::explain {
namespace {

using Json = nlohmann::ordered_json;

const Job::Group& group_of(const Job& job, const Waiting& one) {
  return job.groups()[job.group_of(one.dump, *one.operation)];
}

std::string at(const std::string& place) { return place.empty() ? "" : ", at " + place; }

// Returns "all_reduce number 17 of group 'dp' of 4 ranks, at train.py:41 in step".
std::string hang_text(const Job& job, const Waiting& one) {
  const Job::Group& group = group_of(job, one);
  return fmt::format("{} of {}{}", operation_text(group, *one.operation), group_text(group),
                     at(place_of(job.dumps()[one.dump], one.operation)));
}

// Returns the text of the error that the first dump of a failure reports; empty: none.
std::string first_error(const Job& job) {
  const Dump* first = nullptr;
  for (const Dump& dump : job.dumps())
    if (dump.reason != "asked" && !dump.why.empty() && (first == nullptr || dump.time_ns < first->time_ns))
      first = &dump;
  return first == nullptr ? "" : fmt::format("Rank {} reported: {}\n", first->rank(), first->why);
}

std::string waiting_text(const Job& job, const Verdict& verdict) {
  std::string text;
  for (const Waiting& one : verdict.examples)
    text += fmt::format("Rank {} waits in {}.\n", one.rank, hang_text(job, one));
  return text;
}

std::string classes_text(const Job& job, const Verdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < verdict.classes.size() && i < kRanksShown; ++i) {
    const Mismatch::Class& one = verdict.classes[i];
    const Dump& dump = job.dumps()[*job.dump_of(one.ranks.front())];
    text += fmt::format("In {}: {}{}.\n", ranks_text(one.ranks), call_text(*one.call), at(place_of(dump, one.call)));
  }
  return text;
}

// Returns what an absent rank does, as the end of a sentence.
std::string absence_text(const Job& job, const Verdict& verdict, const Dump& dump) {
  const Operation* const late = hangs_in(dump);
  const Dump* const other = verdict.examples.empty() ? nullptr : &job.dumps()[verdict.examples.front().dump];
  if (late != nullptr && other != nullptr && came_late(*other, dump, *late))
    return fmt::format("came {} after rank {} had given up", info::time_text(double(late->created_ns - other->time_ns)),
                       other->rank());
  if (const std::string place = place_text(dump.main); !place.empty())
    return "has not called it; its main thread is at " + place;
  return dump.stacks_known
             ? "has not called it"
             : "has not called it; a thread of it keeps the interpreter's lock (GIL), so its Python stack "
               "is not known";
}

std::string absent_text(const Job& job, const Verdict& verdict) {
  std::string text = waiting_text(job, verdict);
  for (std::size_t i = 0; i < verdict.culprits.size() && i < kRanksShown; ++i) {
    const std::uint64_t rank = verdict.culprits[i];
    text += fmt::format("Rank {} {}.\n", rank, absence_text(job, verdict, job.dumps()[*job.dump_of(rank)]));
  }
  return text;
}

std::string sentences(const Job& job, const Verdict& verdict) {
  const std::string who = ranks_text(verdict.culprits);
  const bool one = verdict.culprits.size() == 1;
  switch (verdict.cause) {
    case Cause::other_operation:
      return fmt::format("{} {} in another operation than the other ranks.\n", who, one ? "is" : "are") +
             (verdict.classes.empty() ? waiting_text(job, verdict) : classes_text(job, verdict));
    case Cause::other_sizes: {
      const Job::Group& group = group_of(job, verdict.examples.front());
      return fmt::format("{} called {} of {} with other sizes than the other ranks.\n", who,
                         operation_text(group, *verdict.examples.front().operation), group_text(group)) +
             classes_text(job, verdict);
    }
    case Cause::lost:
      return fmt::format("{} ended, or lost {} host: no dump, and the other ranks failed at once.\n", who,
                         one ? "its" : "their") +
             waiting_text(job, verdict) + first_error(job);
    case Cause::silent:
      return fmt::format("{} wrote no dump, while other ranks waited for a whole timeout: stopped, or cut off.\n",
                         who) +
             waiting_text(job, verdict) + first_error(job);
    case Cause::absent:
      return fmt::format("{} did not come to an operation in which other ranks wait.\n", who) +
             absent_text(job, verdict);
    case Cause::deadlock:
      return fmt::format(
                 "{}: a deadlock.\n",
                 verdict.examples.size() > 1 && verdict.culprits.size() < job.dumps().size()
                     ? who + (one ? " calls" : " call") + " the operations in another order than the other ranks"
                     : who + " wait for each other") +
             waiting_text(job, verdict) + "Every rank must call the operations of these groups in one order.\n";
    case Cause::stalled:
      return "All ranks that count are in the same operation, and its data does not arrive: look at the network, "
             "with `railweave info --pid`.\n" +
             waiting_text(job, verdict) + first_error(job);
    default: return "The dumps do not show which rank the others wait for.\n" + first_error(job);
  }
}

std::string with_capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = char(text[0] - 'a' + 'A');
  return text;
}

// Returns ranks to show: the culprits first.
std::vector<std::uint64_t> shown_ranks(const Job& job, const Verdict& verdict) {
  std::vector<std::uint64_t> ranks = verdict.culprits;
  const std::set<std::uint64_t> culprits(ranks.begin(), ranks.end());
  std::set<std::uint64_t> others(job.missing().begin(), job.missing().end());
  for (const Dump& dump : job.dumps()) others.insert(dump.rank());
  for (const std::uint64_t rank : others)
    if (!culprits.contains(rank)) ranks.push_back(rank);
  return ranks;
}

std::string table_text(const Job& job, const Verdict& verdict) {
  info::TextTable table({">RANK", "HOST", ">PID", "HANGS IN", "GROUP", "WAITS FOR", "PYTHON"});
  const std::vector<std::uint64_t> ranks = shown_ranks(job, verdict);
  for (std::size_t i = 0; i < ranks.size() && i < kRanksShown; ++i) {
    const auto number = job.dump_of(ranks[i]);
    if (!number) {
      table.add({std::to_string(ranks[i]), "-", "-", "no dump", "-", "-", "-"});
      continue;
    }
    const Dump& dump = job.dumps()[*number];
    const Operation* const operation = hangs_in(dump);
    const Job::Group* const group = operation ? &job.groups()[job.group_of(*number, *operation)] : nullptr;
    const std::string place = place_of(dump, operation);
    table.add({std::to_string(ranks[i]), dump.host, std::to_string(dump.pid),
               group ? operation_text(*group, *operation) : "-", group ? group->name : "-",
               group && !operation->awaited.empty() ? ranks_text(awaited_ranks(*group, *operation)) : "-",
               place.empty() ? "-" : place});
  }
  const std::size_t more = ranks.size() - std::min(ranks.size(), kRanksShown);
  return table.text() + (more > 0 ? fmt::format("  and {} ranks more\n", more) : "");
}

Json rank_json(const Job& job, std::size_t number) {
  const Dump& dump = job.dumps()[number];
  const Operation* const operation = hangs_in(dump);
  Json rank = {{"rank", dump.rank()}, {"host", dump.host}, {"pid", dump.pid}};
  if (operation != nullptr) {
    const Job::Group& group = job.groups()[job.group_of(number, *operation)];
    rank["operation"] = operation_text(group, *operation);
    rank["group"] = group.name;
    rank["waits_for"] = awaited_ranks(group, *operation);
  }
  rank["where"] = place_of(dump, operation);
  return rank;
}

}  // namespace

std::string explanation_text(const Job& job, const Verdict& verdict) {
  const std::string head = fmt::format("{} of {} ranks wrote a dump.\n", job.dumps().size(), job.ranks());
  return info::printable_lines(with_capital(sentences(job, verdict))) + "\n" + head + table_text(job, verdict);
}

Json explanation_json(const Job& job, const Verdict& verdict) {
  Json groups = Json::array(), ranks = Json::array(), left_out = Json::array();
  for (const std::size_t group : verdict.groups) groups.push_back(job.groups()[group].name);
  for (std::size_t d = 0; d < job.dumps().size(); ++d) ranks.push_back(rank_json(job, d));
  for (const LeftOut& one : job.left_out()) left_out.push_back({{"file", one.file}, {"why", one.why}});
  return {{"cause", name(verdict.cause)},   {"culprits", verdict.culprits},
          {"groups", std::move(groups)},    {"text", with_capital(sentences(job, verdict))},
          {"ranks", std::move(ranks)},      {"without_dump", job.missing()},
          {"left_out", std::move(left_out)}};
}

}  // namespace railweave::explain
