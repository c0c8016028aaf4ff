#include "collectives/exec/execution.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/error.h"

namespace railweave::collectives {

Execution::Execution(std::shared_ptr<const Plan> plan, const Memory& memory, const Reducing& how,
                     Fingerprint fingerprint, PeerStreams& peers, const Sending& sending)
    : plan_(std::move(plan)),
      memory_(memory),
      how_(how),
      fingerprint_(fingerprint),
      number_(sending.number),
      order_(sending.first ? 0 : sending.number),
      rank_(peers.rank()),
      element_bytes_(size_bytes(how.type)),
      partial_bytes_(partial_size_bytes(how.type)),
      waits_for_(plan_->waits_for()),
      steps_left_(plan_->schedule().steps.size()) {
  flows_.reserve(plan_->flows().size());
  for (const Plan::Flow& flow : plan_->flows()) {
    FlowState& state = flows_.emplace_back();
    state.flow = &flow;
    if (flow.sends) {
      state.out = &peers.to(flow.peer, sending.channel, sending.priority);
      for (const FlowState& other : flows_)
        if (other.in != nullptr && other.flow->peer == flow.peer) state.twin = &other;
    } else {
      state.in = &peers.from(flow.peer, sending.channel);
    }
    state.queue().join(this);
  }
  for (std::uint32_t i = 0; i < waits_for_.size(); ++i)
    if (waits_for_[i] == 0) became_ready(i);
}

Result<bool> Execution::advance(bool live) {
  bool moved = false;
  for (FlowState& flow : flows_) {
    // Testing an unfinished request drives the session to the peer. One test for each peer is enough.
    const bool drive = flow.twin == nullptr || flow.twin->posted.empty();
    if (const Status status = collect(flow, drive, moved); !status.ok()) return failure(flow, status);
    if (flow.in != nullptr && !flow.in->stream && !flow.in->gone.ok()) return failure(flow, flow.in->gone);
    if (!live) continue;
    if (const Status status = post(flow, moved); !status.ok()) return failure(flow, status);
  }
  if (!ready_.empty()) {  // one step, then the network again
    const std::uint32_t index = ready_.front();
    ready_.pop_front();
    run_local(index);
    finish(index);
    moved = true;
  }
  return moved;
}

std::size_t Execution::bytes_on_their_way() const {
  if (!ready_.empty() || flows_.size() > kTestedMost) return 0;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const FlowState& flow : flows_) {
    if (flow.posted.empty() && flow.next == flow.flow->steps.size()) continue;
    std::size_t bytes = 0;
    for (const Posted& posted : flow.posted) {
      const Step& step = plan_->step(posted.step);
      if (!flow.stream()->ended(posted.request)) bytes += bytes_of(flow.out ? step.from : step.to);
    }
    least = std::min(least, bytes);
  }
  return least;
}

std::vector<int> Execution::awaited() const {
  for (const bool sends : {false, true}) {
    std::set<int> peers;
    for (const FlowState& flow : flows_) {
      const std::vector<std::uint32_t>& steps = flow.flow->steps;
      const bool due = flow.next < steps.size() && waits_for_[steps[flow.next]] == 0;
      const bool unfinished = !flow.posted.empty() && !flow.stream()->ended(flow.posted.back().request);
      if (flow.flow->sends == sends && (due || unfinished)) peers.insert(flow.flow->peer);
    }
    if (!peers.empty()) return {peers.begin(), peers.end()};
  }
  return {};
}

// Names the peer. Code::truncated means that the peer does another operation: the engine rejects a message larger than
// due, check_due() a smaller one.
Status Execution::failure(const FlowState& flow, const Status& why) const {
  if (why.code() != Code::truncated) return PeerStreams::lost(flow.flow->peer, why);
  return Status(Code::truncated, Scope::session, mismatch(flow.flow->peer, rank_, why.message()));
}

Status Execution::check_due(const Step& step, const Progress& arrived) const {
  const auto another = [](const std::string& how) { return Status(Code::truncated, Scope::session, how); };
  const std::size_t due = bytes_of(step.to);
  if (differ_in_more_than_counts(arrived.tag, fingerprint_)) return another(difference(arrived.tag, fingerprint_));
  if (arrived.bytes != due) return another(fmt::format("a message of {} bytes where {} were due", arrived.bytes, due));
  return arrived.tag == fingerprint_ ? Status() : another(difference(arrived.tag, fingerprint_));
}

Status Execution::collect(FlowState& flow, bool drive, bool& moved) {
  while (!flow.posted.empty()) {
    const Posted& oldest = flow.posted.front();
    if (!drive && !flow.stream()->ended(oldest.request)) return {};
    const Result<Progress> tested = flow.stream()->test(oldest.request);
    if (!tested.ok() && tested.status().code() == Code::truncated) {  // larger than due
      return Status(Code::truncated, Scope::session,
                    fmt::format("{} ({})", tested.status().message(), described(fingerprint_)));
    }
    RW_ASSIGN_OR_RETURN(const Progress progress, tested);
    if (!progress.done) return {};
    const std::uint32_t index = oldest.step;
    flow.posted.pop_front();
    const Step& step = plan_->step(index);
    if (step.kind == Step::Kind::receive) RW_TRY(check_due(step, progress));
    finish(index);
    moved = true;
  }
  return {};
}

void Execution::expedite() {
  if (std::exchange(expedited_, true)) return;
  for (FlowState& flow : flows_)
    if (flow.out != nullptr && flow.out->stream) flow.out->stream->expedite(number_);
}

Status Execution::post(FlowState& flow, bool& moved) {
  const std::vector<std::uint32_t>& steps = flow.flow->steps;
  if (flow.next == steps.size() || flow.stream() == nullptr) return {};
  if (expedited_ && flow.out != nullptr) flow.out->stream->expedite(number_);  // also before this operation's turn
  if (!flow.queue().has(this)) return {};
  while (flow.next < steps.size() && flow.posted.size() < kPostedMax && waits_for_[steps[flow.next]] == 0) {
    RW_ASSIGN_OR_RETURN(Request* const request, post_step(flow, plan_->step(steps[flow.next])));
    if (request == nullptr) return {};
    flow.posted.push_back({request, steps[flow.next++]});
    moved = true;
  }
  if (flow.next == steps.size()) flow.queue().leave();
  return {};
}

Result<Request*> Execution::post_step(FlowState& flow, const Step& step) {
  if (flow.out) return flow.out->stream->post(source(step.from), bytes_of(step.from), fingerprint_, order_);
  return flow.in->stream->post(target(step.to), bytes_of(step.to));
}

void Execution::run_local(std::uint32_t index) {
  const Step& step = plan_->step(index);
  if (step.kind == Step::Kind::copy) {
    const std::byte* from = source(step.from);
    std::byte* to = target(step.to);
    if (from != to && step.to.count > 0) std::memcpy(to, from, bytes_of(step.to));
    return;
  }
  operands_.clear();
  for (const Piece& piece : plan_->operands(step)) operands_.push_back({source(piece), piece.form == Form::partial});
  reduce(how_, operands_, target(step.to), step.to.form == Form::result, step.to.count);
}

void Execution::finish(std::uint32_t index) {
  --steps_left_;
  for (const std::uint32_t next : plan_->dependents(index))
    if (--waits_for_[next] == 0) became_ready(next);
}

// Sends and receives are posted in their flow's order. Copies and reductions run in any order.
void Execution::became_ready(std::uint32_t index) {
  const Step::Kind kind = plan_->step(index).kind;
  if (kind == Step::Kind::copy || kind == Step::Kind::reduce) ready_.push_back(index);
}

std::size_t Execution::bytes_of(const Piece& piece) const {
  return piece.count * (piece.form == Form::partial ? partial_bytes_ : element_bytes_);
}

const std::byte* Execution::source(const Piece& piece) const {
  return (piece.place == Place::input    ? memory_.input
          : piece.place == Place::output ? memory_.output
                                         : memory_.scratch) +
         piece.offset_bytes;
}

std::byte* Execution::target(const Piece& piece) const {
  return (piece.place == Place::output ? memory_.output : memory_.scratch) + piece.offset_bytes;
}

}  // namespace railweave::collectives
