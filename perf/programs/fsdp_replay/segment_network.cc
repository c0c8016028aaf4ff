#include "fsdp_replay/segment_network.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace railweave::perf::fsdp_replay {

SegmentNetwork::SegmentNetwork(EventQueue& events, const StepProgram& program, const Ring& ring,
                               const Admission::Options& admission, std::size_t segment_bytes, Network::User& user)
    : events_(events),
      program_(program),
      ring_(ring),
      segment_bytes_(segment_bytes),
      user_(user),
      members_(std::size_t(ring.members)) {
  assert(segment_bytes > 0);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].admission = std::make_unique<Admission>(events, program, admission, *this, i);
    members_[i].operations.resize(program.operations.size());
  }
}

Admission::Live SegmentNetwork::live_most() const {
  Admission::Live most;
  for (const Member& member : members_) most = most_of(most, member.admission->most_live());
  return most;
}

void SegmentNetwork::issue(std::size_t member, std::size_t operation) {
  Member& m = members_[member];
  m.operations[operation].issued = true;
  m.unfinished.push_back(operation);
  m.admission->issue(operation);
  begin_steps(member);
  begin_step(before(member), operation);  // the step may have waited for this receive
  end_if_over(member, operation);         // a ring of one member
}

void SegmentNetwork::live_changed(std::size_t member) { begin_steps(member); }

void SegmentNetwork::begin_steps(std::size_t member) {
  for (const std::size_t operation : members_[member].unfinished) begin_step(member, operation);
}

// Begins a step once the previous step has arrived here and the next member has issued the operation.
void SegmentNetwork::begin_step(std::size_t member, std::size_t operation) {
  Member& m = members_[member];
  Progress& progress = m.operations[operation];
  if (!progress.issued || progress.sending || progress.begun == ring_.members - 1) return;
  if (progress.arrived < progress.begun || !members_[next(member)].operations[operation].issued) return;
  if (!m.admission->may_go_on(operation)) return;
  ++progress.begun;
  progress.sending = true;
  const auto bytes = std::size_t(std::ceil(ring_.step_bytes(program_.operations[operation].bytes)));
  m.messages[int(m.admission->priority(operation))].push_back({operation, bytes});
  send(member);
}

void SegmentNetwork::send(std::size_t member) {
  Member& m = members_[member];
  if (m.sending_class >= 0) return;
  for (int c = 0; c < kPriorities; ++c) {
    auto& messages = m.messages[c];
    if (messages.empty()) continue;
    std::iter_swap(messages.begin(), std::ranges::min_element(messages, {}, &Message::operation));
    m.sending_class = c;
    m.sending_bytes = std::min(segment_bytes_, m.messages[c].front().bytes);
    return events_.after(ring_.on_link(m.sending_bytes), *this, kSent, member);
  }
}

void SegmentNetwork::sent(std::size_t member) {
  Member& m = members_[member];
  auto& messages = m.messages[m.sending_class];
  messages.front().bytes -= m.sending_bytes;
  m.sending_class = -1;
  const Message message = messages.front();
  if (message.bytes == 0) {
    messages.pop_front();
    Progress& progress = m.operations[message.operation];
    progress.sending = false;
    ++progress.sent;
    const std::size_t which = next(member) * program_.operations.size() + message.operation;
    events_.after(ring_.latency, *this, kArrived, which);
  }
  moved(member, message.operation);
  if (message.bytes == 0) {
    begin_step(member, message.operation);
    end_if_over(member, message.operation);
  }
  send(member);
}

void SegmentNetwork::arrived(std::size_t member, std::size_t operation) {
  ++members_[member].operations[operation].arrived;
  moved(member, operation);
  begin_step(member, operation);
  end_if_over(member, operation);
}

void SegmentNetwork::moved(std::size_t member, std::size_t operation) {
  if (members_[member].admission->moved(operation)) begin_steps(member);
}

void SegmentNetwork::end_if_over(std::size_t member, std::size_t operation) {
  Member& m = members_[member];
  const Progress& progress = m.operations[operation];
  if (progress.sent < ring_.members - 1 || progress.arrived < ring_.members - 1) return;
  std::erase(m.unfinished, operation);
  m.admission->finish(operation);
  begin_steps(member);
  // Runs as an event of its own, since the user may issue more operations in ended().
  events_.after(Nanos(0), *this, kEnded, member * program_.operations.size() + operation);
}

void SegmentNetwork::happen(std::uint32_t what, std::size_t which) {
  const std::size_t operations = program_.operations.size();
  switch (what) {
    case kSent: return sent(which);
    case kArrived: return arrived(which / operations, which % operations);
    case kEnded: return user_.ended(which / operations, which % operations);
  }
}

}  // namespace railweave::perf::fsdp_replay
