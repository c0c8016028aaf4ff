#include "fsdp_replay/rank.h"

#include <fmt/core.h>

#include <cassert>

namespace railweave::perf::fsdp_replay {

using Kind = StepProgram::Kind;

Rank::Rank(EventQueue& events, const StepProgram& program, const Options& options, Limiter limiter, Memory memory,
           Network& network, std::size_t member)
    : events_(events),
      program_(program),
      options_(options),
      limiter_(limiter),
      memory_(memory),
      network_(network),
      member_(member),
      ended_(program.operations.size()),
      issued_at_(program.operations.size()),
      leads_(program.operations.size()) {}

std::string Rank::standing() const {
  if (over_) return "is over";
  const char* waits = "for what it issued and launched";
  if (waits_ == Waits::for_limiter) waits = "for its limiter";
  if (waits_ == Waits::for_everything) waits = "for memory";
  return fmt::format("waits {} after {} of {} acts, with {} of {} pieces computed and {} operations unended", waits,
                     at_, program_.acts.size(), computed_, program_.pieces.size(), unended_);
}

void Rank::start() { events_.after(Nanos(0), *this, kThread, 0); }

void Rank::happen(std::uint32_t what, std::size_t) {
  switch (what) {
    case kThread: return run_thread();
    case kComputed: return computed();
    case kOver:
      assert(!limiter_.waits_for_any());
      over_ = true;
      ended_at_ = events_.now();
      return;
  }
}

// Runs until the thread waits, is busy launching, or is over.
void Rank::run_thread() {
  while (at_ < program_.acts.size()) {
    const StepProgram::Act& act = program_.acts[at_];
    const bool launches = act.kind == StepProgram::Act::Kind::launch;
    if (!(launches ? launch(act.which) : issue(act.which))) return wake_thread_or_end();
    ++at_;
    if (launches) return events_.after(options_.launch, *this, kThread, 0);
  }
  wake_thread_or_end();
}

bool Rank::issue(std::size_t operation) {
  const StepProgram::Operation& o = program_.operations[operation];
  const bool gathers = o.kind == Kind::gather;
  if (gathers) {
    if (limiter_.must_wait(o.bytes)) {
      waits_ = Waits::for_limiter;
      return false;
    }
    if (!allocate(o.bytes)) return false;
    limiter_.issued(o.bytes);
  }
  ++unended_;
  lines_[gathers || options_.one_line ? 0 : 1].push_back(operation);
  hand_over();
  return true;
}

bool Rank::launch(std::size_t piece) {
  if (!allocate(program_.pieces[piece].gradient_bytes)) return false;
  if (program_.gathers_for(piece)) limiter_.launched();
  ++launched_;
  compute();
  return true;
}

bool Rank::allocate(std::size_t bytes) {
  if (memory_.allocate(bytes)) {
    tried_again_ = false;
    return true;
  }
  if (tried_again_) {
    out_of_memory_ = true;
    return false;
  }
  ++failed_allocations_;
  waits_ = Waits::for_everything;
  return false;
}

// Hands operations whose data is ready to the scheduler, in each line's order.
void Rank::hand_over() {
  for (auto& line : lines_) {
    while (!line.empty()) {
      const std::size_t operation = line.front();
      const StepProgram::Operation& o = program_.operations[operation];
      if (o.kind == Kind::reduce && o.piece >= computed_) break;
      line.pop_front();
      if (o.bytes >= collectives::Scheduler::kSmallBytes) issued_at_[operation] = issued_bytes_ += o.bytes;
      network_.issue(member_, operation);
    }
  }
}

void Rank::compute() {
  if (computing_ || computed_ == launched_) return;
  const std::size_t gather = program_.pieces[computed_].gather;
  if (!leads_[gather] && issued_at_[gather]) leads_[gather] = issued_bytes_ - *issued_at_[gather];
  if (!ended_[gather]) return;
  computing_ = true;
  events_.after(program_.pieces[computed_].duration, *this, kComputed, 0);
}

void Rank::computed() {
  computing_ = false;
  const StepProgram::StepPiece& piece = program_.pieces[computed_];
  const std::size_t gathered = program_.operations[piece.gather].bytes;
  if (piece.frees) memory_.free(gathered);
  if (program_.gathers_for(computed_)) limiter_.freed(gathered);
  ++computed_;
  hand_over();
  compute();
  wake_thread_or_end();
}

void Rank::ended(std::size_t operation) {
  ended_[operation] = true;
  --unended_;
  if (program_.operations[operation].kind == Kind::reduce) memory_.free(program_.operations[operation].bytes);
  compute();
  wake_thread_or_end();
}

// Wakes the thread once its wait is over, and ends the step once nothing is left.
void Rank::wake_thread_or_end() {
  const bool quiet = computed_ == launched_ && unended_ == 0;
  switch (waits_) {
    case Waits::for_limiter:
      if (limiter_.must_wait(program_.operations[program_.acts[at_].which].bytes)) return;
      waits_ = Waits::no;
      return events_.after(options_.wake, *this, kThread, 0);
    case Waits::for_everything:
      // Gathers ahead of the launched pieces end, and their memory stays in use.
      if (!quiet) return;
      waits_ = Waits::no;
      tried_again_ = true;
      return events_.after(options_.synchronize, *this, kThread, 0);
    case Waits::no:
      if (quiet && at_ == program_.acts.size()) events_.after(options_.optimizer, *this, kOver, 0);
      return;
  }
}

}  // namespace railweave::perf::fsdp_replay
