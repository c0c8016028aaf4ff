#include "collectives/schedule/proof/symbolic_execution.h"

#include <algorithm>

#include "collectives/schedule/memory.h"
#include "collectives/schedule/proof/outcome.h"

namespace railweave::collectives::proof {

SymbolicExecution::SymbolicExecution(std::span<const Problem> problems, std::span<const Schedule> schedules,
                                     std::size_t window)
    : problems_(problems),
      schedules_(schedules),
      window_(window),
      symbols_(int(problems.size())),
      ranks_(problems.size()) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) prepare(rank);
}

void SymbolicExecution::prepare(std::size_t rank) {
  Rank& here = ranks_[rank];
  const Schedule& schedule = schedules_[rank];
  here.sends.resize(ranks_.size());
  here.receives.resize(ranks_.size());
  here.waits.resize(schedule.steps.size());
  here.followers.resize(schedule.steps.size());
  for (std::uint32_t id = 0; id < schedule.steps.size(); ++id) {
    const Step& step = schedule.steps[id];
    if (step.kind == Step::Kind::send) here.sends[std::size_t(step.peer)].steps.push_back(id);
    if (step.kind == Step::Kind::receive) here.receives[std::size_t(step.peer)].steps.push_back(id);
    here.waits[id] = step.after_end - step.after_begin;
    for (std::uint32_t i = step.after_begin; i < step.after_end; ++i) here.followers[schedule.after[i]].push_back(id);
    if (here.waits[id] == 0) here.ready.push_back(id);
  }
  const std::size_t count = elements(problems_[rank], Place::input);
  const Run input{count, symbols_.raw(int(rank)), 0};
  write(rank, {Place::input, Form::raw, 0, count}, {&input, 1});
  runnable_.push_back(rank);
}

Status SymbolicExecution::check_messages() const {
  for (std::size_t from = 0; from < ranks_.size(); ++from)
    for (std::size_t to = 0; to < ranks_.size(); ++to) {
      const auto& sends = ranks_[from].sends[to].steps;
      const auto& receives = ranks_[to].receives[from].steps;
      for (std::size_t n = 0; n < std::max(sends.size(), receives.size()); ++n) {
        if (n >= receives.size()) return wrong(problems_[from], schedules_[from], sends[n], "nobody receives it");
        if (n >= sends.size()) return wrong(problems_[to], schedules_[to], receives[n], "nobody sends it");
        const Piece& sent = schedules_[from].steps[sends[n]].from;
        const Piece& received = schedules_[to].steps[receives[n]].to;
        if (sent.count * form_bytes(problems_[from], sent.form) !=
            received.count * form_bytes(problems_[to], received.form))
          return wrong(problems_[to], schedules_[to], receives[n],
                       "does not fit " + describe(problems_[from], schedules_[from], sends[n]));
        if ((sent.form == Form::partial) != (received.form == Form::partial))
          return wrong(problems_[to], schedules_[to], receives[n], "is sent in another form");
      }
    }
  return {};
}

Status SymbolicExecution::run() {
  if (Status status = check_messages(); !status.ok()) return status;
  while (!runnable_.empty()) {
    const std::size_t rank = runnable_.back();
    runnable_.pop_back();
    if (Status status = run_ready(rank); !status.ok()) return status;
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].done != schedules_[rank].steps.size()) return stuck();
  return check_outcome();
}

Status SymbolicExecution::run_ready(std::size_t rank) {
  while (!ranks_[rank].ready.empty()) {
    const std::uint32_t id = ranks_[rank].ready.back();
    ranks_[rank].ready.pop_back();
    const Step& step = schedules_[rank].steps[id];
    if (step.kind == Step::Kind::send || step.kind == Step::Kind::receive) {
      const auto peer = std::size_t(step.peer);
      const bool sends = step.kind == Step::Kind::send;
      if (Status status = post(sends ? rank : peer, sends ? peer : rank); !status.ok()) return status;
      continue;
    }
    const Complaint what = step.kind == Step::Kind::copy ? copy(rank, step.from, rank, step.to) : reduce(rank, step);
    if (!what.empty()) return wrong(problems_[rank], schedules_[rank], id, what);
    finish(rank, id);
  }
  return {};
}

// Posts the messages that may be posted on either side and delivers them, until no more can be.
Status SymbolicExecution::post(std::size_t from, std::size_t to) {
  Queue& sends = ranks_[from].sends[to];
  Queue& receives = ranks_[to].receives[from];
  const auto advance = [this](Queue& queue, const Rank& rank) {
    while (queue.posted < queue.steps.size() && queue.posted - queue.done < window_ &&
           rank.waits[queue.steps[queue.posted]] == 0)
      ++queue.posted;
  };
  for (;;) {
    advance(sends, ranks_[from]);
    advance(receives, ranks_[to]);
    if (sends.done == std::min(sends.posted, receives.posted)) return {};
    if (Status status = deliver(from, to); !status.ok()) return status;
  }
}

Status SymbolicExecution::deliver(std::size_t from, std::size_t to) {
  Queue& sends = ranks_[from].sends[to];
  Queue& receives = ranks_[to].receives[from];
  const std::uint32_t send = sends.steps[sends.done++], receive = receives.steps[receives.done++];
  const Complaint what = copy(from, schedules_[from].steps[send].from, to, schedules_[to].steps[receive].to);
  if (!what.empty()) return wrong(problems_[from], schedules_[from], send, what);
  finish(from, send);
  finish(to, receive);
  return {};
}

void SymbolicExecution::finish(std::size_t rank, std::uint32_t step) {
  Rank& here = ranks_[rank];
  ++here.done;
  const bool idle = here.ready.empty();
  for (const std::uint32_t follower : here.followers[step])
    if (--here.waits[follower] == 0) here.ready.push_back(follower);
  if (idle && !here.ready.empty()) runnable_.push_back(rank);
}

SymbolicExecution::Complaint SymbolicExecution::read(std::size_t rank, const Piece& piece,
                                                     std::vector<Run>& runs) const {
  const Problem& problem = problems_[rank];
  const Extent where = extent(problem, piece);
  if (!ranks_[rank].memory[std::size_t(where.place)].read(where.begin, form_bytes(problem, piece.form), piece.count,
                                                          runs))
    return "reads what was never written, or not as such elements";
  for (const Run& run : runs)
    if ((piece.form == Form::partial) != (symbols_.form(run.symbol) == Form::partial))
      return "reads " + symbols_.text(run.symbol) + " in another form";
  return {};
}

void SymbolicExecution::write(std::size_t rank, const Piece& piece, std::span<const Run> runs) {
  const Extent where = extent(problems_[rank], piece);
  ranks_[rank].memory[std::size_t(where.place)].write(where.begin, form_bytes(problems_[rank], piece.form), runs);
}

SymbolicExecution::Complaint SymbolicExecution::copy(std::size_t from_rank, const Piece& from, std::size_t to_rank,
                                                     const Piece& to) {
  std::vector<Run> runs;
  if (Complaint what = read(from_rank, from, runs); !what.empty()) return what;
  write(to_rank, to, runs);
  return {};
}

SymbolicExecution::Complaint SymbolicExecution::reduce(std::size_t rank, const Step& step) {
  const Schedule& schedule = schedules_[rank];
  const auto operands =
      std::span(schedule.operands).subspan(step.operands_begin, step.operands_end - step.operands_begin);
  std::vector<std::vector<Run>> read_runs(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (Complaint what = read(rank, operands[i], read_runs[i]); !what.empty()) return what;
    for (const Run& run : read_runs[i])
      if (symbols_.form(run.symbol) != operands[i].form)
        return "operand " + symbols_.text(run.symbol) + " has another form";
  }
  std::vector<Run> results;
  std::vector<std::size_t> at(operands.size(), 0);  // by operand: index of its next run
  std::vector<Symbol> symbols(operands.size());
  Complaint what;
  for (std::size_t done = 0; done < step.to.count && what.empty();) {
    std::size_t count = step.to.count - done;
    const std::size_t first = read_runs[0][at[0]].first;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Run& run = read_runs[i][at[i]];
      if (run.first != first)
        return "elements " + std::to_string(first) + " and " + std::to_string(run.first) + " are reduced to one";
      symbols[i] = run.symbol;
      count = std::min(count, run.count);
    }
    results.push_back({count, symbols_.reduced(symbols, step.to.form, what), first});
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Run& run = read_runs[i][at[i]];
      run.first += count;
      run.count -= count;
      if (run.count == 0) ++at[i];
    }
    done += count;
  }
  write(rank, step.to, results);
  return what;
}

Status SymbolicExecution::stuck() const {
  std::string all;
  int described = 0;
  for (std::size_t rank = 0; rank < ranks_.size() && described < 4; ++rank) {
    const auto& steps = schedules_[rank].steps;
    for (std::uint32_t id = 0; id < steps.size(); ++id) {
      const Step& step = steps[id];
      if (step.kind != Step::Kind::send && step.kind != Step::Kind::receive) continue;
      const Queue& queue =
          (step.kind == Step::Kind::send ? ranks_[rank].sends : ranks_[rank].receives)[std::size_t(step.peer)];
      if (queue.done == queue.steps.size() || queue.steps[queue.done] != id) continue;
      all += (all.empty() ? "" : "; ") + describe(problems_[rank], schedules_[rank], id) +
             (queue.posted > queue.done ? " waits for the other side" : " waits for earlier steps");
      if (++described == 4) break;
    }
  }
  return wrong("deadlock: " + all);
}

Status SymbolicExecution::check_outcome() const {
  Outcome outcome(problems_, symbols_);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const std::size_t count = elements(problems_[rank], Place::output);
    std::vector<Run> runs;
    const std::string who = "rank " + std::to_string(rank) + ": ";
    const Complaint what = read(rank, {Place::output, Form::raw, 0, count}, runs);
    if (!what.empty()) return wrong(who + "not all of the output was written");
    if (const Complaint bad = outcome.add(rank, runs); !bad.empty()) return wrong(who + bad);
  }
  return {};
}

}  // namespace railweave::collectives::proof
