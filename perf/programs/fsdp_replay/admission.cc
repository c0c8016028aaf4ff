#include "fsdp_replay/admission.h"

#include <algorithm>

namespace railweave::perf::fsdp_replay {

using collectives::Scheduler;

Admission::Live most_of(const Admission::Live& a, const Admission::Live& b) {
  return {.operations = std::max(a.operations, b.operations), .bytes = std::max(a.bytes, b.bytes)};
}

Admission::Admission(EventQueue& events, const StepProgram& program, const Options& options, User& user,
                     std::size_t member)
    : events_(events),
      program_(program),
      options_(options),
      user_(user),
      member_(member),
      scheduler_(options.window),
      ids_(program.operations.size()),
      channel_of_(program.operations.size()) {
  for (auto& channels : channels_) channels.resize(std::size_t(options.channels));
}

Priority Admission::priority(std::size_t operation) const {
  return options_.one_line ? Priority::normal : program_.operations[operation].priority();
}

void Admission::issue(std::size_t operation) {
  const Priority priority_class = priority(operation);
  const std::size_t bytes = program_.operations[operation].bytes;
  ids_[operation] =
      scheduler_.issue(Scheduler::QueueId(priority_class), priority_class, bytes, issued_bytes_, events_.now(),
                       options_.leads.empty() ? Scheduler::Lead() : options_.leads[operation]);
  if (bytes >= Scheduler::kSmallBytes) issued_bytes_ += bytes;
  const auto c = std::size_t(priority_class);
  channel_of_[operation] = &channels_[c][issued_[c]++ % channels_[c].size()];
  channel_of_[operation]->push_back(operation);
  plan_turn_and_note_live();
}

void Admission::finish(std::size_t operation) {
  scheduler_.finish(ids_[operation], events_.now());
  std::erase(*channel_of_[operation], operation);
  plan_turn_and_note_live();
}

bool Admission::may_go_on(std::size_t operation) const {
  return channel_of_[operation]->front() == operation && scheduler_.live(ids_[operation]);
}

bool Admission::moved(std::size_t operation) {
  if (scheduler_.off()) return false;
  scheduler_.moved(ids_[operation], events_.now());
  if (turned_) plan_turn_and_note_live();
  return turned_;
}

void Admission::happen(std::uint32_t, std::size_t) {
  asks_again_ = false;
  if (scheduler_.held() == 0) return;
  user_.before_turn(member_);
  const bool changed = scheduler_.pass_turn(events_.now());
  const auto standings = scheduler_.standings();
  turned_ = std::any_of(standings.begin(), standings.end(), [](const auto& one) { return one.waits_for_turn; });
  plan_turn_and_note_live();
  if (changed) user_.live_changed(member_);
}

// Call after anything that may have held an operation or made one live.
void Admission::plan_turn_and_note_live() {
  if (scheduler_.off()) return;
  if (scheduler_.held() > 0 && !asks_again_) {
    asks_again_ = true;
    events_.after(Scheduler::kStallMost, *this, 0, 0);
  }
  const auto most = scheduler_.take_most_live();
  if (most) most_live_ = most_of(most_live_, *most);
}

}  // namespace railweave::perf::fsdp_replay
