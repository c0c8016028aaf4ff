#include "fake_job.h"

#include <utility>

#include "base/error.h"
#include "collectives/exec/plan.h"
#include "collectives/group/call.h"

namespace railweave::collectives_test {

using namespace collectives;

namespace {

constexpr int kRanksPerHost = 4;

Call call_of(const Case& one, int rank, CaseMemory& memory) {
  Call call;
  Problem& p = call.problem;
  p.operation = one.operation;
  p.ranks = one.ranks;
  p.rank = rank;
  p.root = one.root;
  p.element_bytes = size_bytes(one.type);
  p.partial_bytes = partial_size_bytes(one.type);
  p.counts = one.counts(rank);
  p.receive_counts = one.receive_counts(rank);
  p.uniform = one.operation == Operation::all_to_all && !one.uneven;
  p.chunk_bytes = one.chunk_bytes;
  for (int other = 0; other < one.ranks; ++other) p.host_of.push_back(other / kRanksPerHost);
  call.how = {one.type, one.reduction, one.ranks, kFactor};
  call.input = memory.input();
  call.output = memory.output();
  return call;
}

}  // namespace

FakeJob::FakeJob(int ranks, std::uint64_t seed, std::uint64_t unrest) : network_(seed, unrest), random_(seed) {
  std::vector<Handle> handles(static_cast<std::size_t>(ranks));
  std::vector<std::shared_ptr<Engine>> engines;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (Handle& handle : handles) {
    engines.push_back(network_.engine());
    listeners.push_back(std::move(*engines.back()->listen(0, handle)));
  }
  for (std::size_t r = 0; r < handles.size(); ++r) {
    peers_.push_back(std::make_unique<PeerStreams>(engines[r], int(r), handles, std::move(listeners[r])));
    laziness_.push_back(1 + int(random_() % (unrest / 5)));
  }
}

bool FakeJob::add(const Algorithm& algorithm, const Case& one, int channel, std::uint64_t number) {
  for (int rank = 0; rank < ranks(); ++rank)
    if (!add(algorithm, one, rank, channel, number)) return false;
  return true;
}

bool FakeJob::add(const Algorithm& algorithm, const Case& one, int rank, int channel, std::uint64_t number) {
  auto part = std::make_unique<Part>(Part{rank, CaseMemory(one, rank), {}, nullptr});
  Call call = call_of(one, rank, part->memory);
  if (const Status status = check(call); !status.ok()) refused_ = one.text() + ": " + status.message();
  if (!refused_.empty() || !algorithm.fits(call.problem)) return false;
  auto plan = std::make_shared<const Plan>(algorithm.build(call.problem));
  part->scratch.resize(plan->schedule().scratch_bytes);
  const Execution::Memory memory{part->memory.input(), part->memory.output(), part->scratch.data()};
  part->execution = std::make_unique<Execution>(
      plan, memory, call.how, fingerprint(call, 0), *peers_[std::size_t(rank)],
      Execution::Sending{.channel = channel, .priority = Priority::normal, .number = number});
  parts_.push_back(std::move(part));
  return true;
}

void FakeJob::expedite() {
  for (auto& part : parts_) part->execution->expedite();
}

void FakeJob::advance() {
  constexpr int kOften = 100;  // a post may find no room a few times
  for (int i = 0; i < kOften; ++i)
    for (auto& part : parts_)
      if (const auto did = part->execution->advance(); !did.ok()) refused_ = did.status().message();
}

std::vector<std::size_t> FakeJob::bytes_on_their_way() const {
  std::vector<std::size_t> bytes;
  for (const auto& part : parts_) bytes.push_back(part->execution->bytes_on_their_way());
  return bytes;
}

Result<bool> FakeJob::turn(std::vector<Part*>& running) {
  bool moved = false;
  for (auto& peers : peers_) RW_TRY(peers->advance());
  for (Part* part : running) {
    if (random_() % std::uint64_t(laziness_[std::size_t(part->rank)]) != 0) continue;
    RW_ASSIGN_OR_RETURN(const bool did, part->execution->advance());
    moved |= did;
    if (part->execution->done()) part->execution.reset();
  }
  std::erase_if(running, [](const Part* part) { return part->execution == nullptr; });
  return moved;
}

std::string FakeJob::finish() {
  if (!refused_.empty()) return refused_;
  std::vector<Part*> running;
  for (auto& part : parts_) running.push_back(part.get());
  for (int still = 0; !running.empty(); network_.step()) {
    auto moved = turn(running);
    if (!moved.ok()) return moved.status().message();
    still = *moved ? 0 : still + 1;
    if (still > 5000)
      return std::to_string(running.size()) + " of " + std::to_string(parts_.size()) + " ranks' parts stand still";
  }
  for (auto& part : parts_)
    if (std::string wrong = part->memory.wrong(); !wrong.empty()) return wrong;
  parts_.clear();
  return "";
}

}  // namespace railweave::collectives_test
