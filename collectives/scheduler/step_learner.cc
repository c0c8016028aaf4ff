#include "collectives/scheduler/step_learner.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace railweave::collectives {
namespace {

constexpr std::int64_t kUnseen = std::numeric_limits<std::int64_t>::max();

std::int64_t median(std::vector<std::int64_t> times) {
  std::ranges::sort(times);
  const std::size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

// Returns where `other` begins in `cycle`, taken as a circle; none: another cycle.
std::optional<std::size_t> rotation(const std::vector<std::uint64_t>& cycle, const std::vector<std::uint64_t>& other) {
  if (cycle.size() != other.size()) return {};
  std::vector<std::uint64_t> twice(cycle);
  twice.insert(twice.end(), cycle.begin(), cycle.end());
  const auto found = std::search(twice.begin(), twice.end(), other.begin(), other.end());
  if (found == twice.end()) return {};
  return std::size_t(found - twice.begin());
}

}  // namespace

std::size_t choose_candidate(std::span<const std::int64_t, kCandidates.size()> times) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < times.size(); ++c) {
    if (double(times[c]) < (1 - kGainLeast) * double(times[0]) && times[c] < times[best]) best = c;
  }
  return best;
}

// ------------------------------------------------------------------------------------------------------------ changes

Change Change::to_candidate(std::size_t candidate, std::size_t step_bytes, std::shared_ptr<const Agreement> leads) {
  Change change;
  change.candidate_ = candidate;
  change.step_bytes_ = step_bytes;
  change.leads_ = std::move(leads);
  return change;
}

Change Change::to_shortest(std::size_t step_bytes, std::shared_ptr<const Agreement> leads,
                           std::shared_ptr<const Agreement> times) {
  Change change = to_candidate(0, step_bytes, std::move(leads));
  change.times_ = std::move(times);
  return change;
}

bool Change::ready() const { return (!leads_ || leads_->over) && (!times_ || times_->over); }

std::size_t Change::candidate() const {
  assert(ready());
  return times_ ? choose_candidate(times()) : candidate_;
}

std::span<const std::int64_t, kCandidates.size()> Change::times() const {
  assert(settles() && ready() && times_->values.size() == kCandidates.size());
  return std::span<const std::int64_t, kCandidates.size()>(times_->values);
}

Change::Lead Change::lead(std::size_t position) const {
  if (!kCandidates[candidate()].by_leads) return {};
  assert(leads_ && position < leads_->values.size());
  if (leads_->values[position] == -kUnseen) return {};
  return std::uint64_t(-leads_->values[position]);
}

// ----------------------------------------------------------------------------------------------------------- learning

StepLearner::Issued StepLearner::issued(std::uint64_t what, std::size_t bytes, TimePoint now) {
  Issued issued;
  const RepeatFinder::Event event = finder_.add(what);
  if (event == RepeatFinder::Event::broken) {
    cycle_.clear();
    issued.change = Change::to_off();
  }
  issued_bytes_ += bytes;
  if (!cycle_.empty()) {
    issued.position = (since_ + offset_) % cycle_.size();
    if (since_ % cycle_.size() == 0) begin_step(now, issued);
    if (since_ < cycle_.size()) step_bytes_ += bytes;
    if (!recalled_ && since_ < kLeadsAt * cycle_.size()) {
      issued_at_.push_back(issued_bytes_);
      issued.watched = issued_;
    }
    ++since_;
  }
  ++issued_;
  if (event != RepeatFinder::Event::none && finder_.period() > 0) learn(finder_.cycle());
  return issued;
}

void StepLearner::learn(std::vector<std::uint64_t> cycle) {
  cycle_ = std::move(cycle);
  since_ = 0;
  first_number_ = issued_;
  step_bytes_ = offset_ = 0;
  issued_at_.clear();
  leads_.assign(cycle_.size(), kUnseen);
  for (auto& times : times_) times.clear();
  agreed_leads_ = agreed_times_ = nullptr;
  const auto known_at = known_ ? rotation(known_->cycle, cycle_) : std::nullopt;
  recalled_ = known_at.has_value();
  if (recalled_) offset_ = *known_at;
}

void StepLearner::begin_step(TimePoint now, Issued& issued) {
  const std::uint64_t step = since_ / cycle_.size();
  if (recalled_) {
    if (step == 0) issued.change = known_->change;
    return;
  }
  if (step > kTryingAt && step <= kTimesAt) {
    const std::uint64_t tried = step - 1 - kTryingAt;
    if (tried % kStepsPerBlock > 0) times_[candidate_of(tried)].push_back((now - step_began_).count());
  }
  step_began_ = now;
  if (step == kLeadsAt) issued.agree = agreed_leads_ = leads_so_far();
  if (step >= kTryingAt && step < kTimesAt && (step - kTryingAt) % kStepsPerBlock == 0) {
    issued.change = Change::to_candidate(candidate_of(step - kTryingAt), step_bytes_, agreed_leads_);
  }
  if (step == kTimesAt) {
    issued.agree = agreed_times_ = times_so_far();
    issued.change = Change::to_candidate(0, step_bytes_, agreed_leads_);
  }
  if (step == kSettledAt) {
    issued.change = Change::to_shortest(step_bytes_, agreed_leads_, agreed_times_);
    known_ = Known{cycle_, *issued.change};
  }
}

void StepLearner::awaited(std::uint64_t number) {
  if (cycle_.empty() || agreed_leads_ || number < first_number_) return;
  const std::uint64_t index = number - first_number_;
  if (index >= issued_at_.size()) return;
  std::int64_t& shortest = leads_[index % leads_.size()];
  shortest = std::min(shortest, std::int64_t(issued_bytes_ - issued_at_[index]));
}

std::shared_ptr<Agreement> StepLearner::leads_so_far() const {
  auto agreement = std::make_shared<Agreement>();
  // Agreement takes the maximum of all ranks; negative leads make the shortest lead count.
  for (const std::int64_t lead : leads_) agreement->values.push_back(-lead);
  return agreement;
}

std::shared_ptr<Agreement> StepLearner::times_so_far() const {
  auto agreement = std::make_shared<Agreement>();
  for (const auto& times : times_) agreement->values.push_back(median(times));
  return agreement;
}

}  // namespace railweave::collectives
