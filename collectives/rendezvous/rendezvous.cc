#include "collectives/rendezvous/rendezvous.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

namespace railweave::collectives {
namespace {

constexpr Nanos kRound = std::chrono::milliseconds(250);  // between two polls for an abort reason
constexpr Nanos kDepartureMost = std::chrono::seconds(2), kDeparturePoll = std::chrono::milliseconds(10);

std::string listed(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > kShown ? text + fmt::format(" and {} more", ranks.size() - kShown) : text;
}

constexpr const char* kAbortReason = "abort_reason";  // key for ranks that know no epoch yet
constexpr const char* kFailure = "failure";           // key for ranks that know the epoch

constexpr std::size_t kIdChars = 32;

// The value of NAME/abort_reason: an id of kIdChars characters that differs from those of earlier abort reasons, one
// character for the error code, the message.
char kind_of(const Status& why) { return why.code() == Code::timed_out ? 't' : why.code() == Code::remote ? 'r' : 'e'; }

Status decode_abort_reason(const std::string& value) {
  const char kind = value[kIdChars];
  const Code code = kind == 't' ? Code::timed_out : kind == 'r' ? Code::remote : Code::exhausted;
  return Status(code, code == Code::remote ? Scope::session : Scope::engine, value.substr(kIdChars + 1));
}

std::string drawn_id() { return hex(random_id()); }

}  // namespace

Status Rendezvous::arrive() {
  if (auto before = store_->get(key(kAbortReason), Nanos(0)); before.ok())
    old_abort_reason_ = before->substr(0, kIdChars);
  const std::string claim_key = key(fmt::format("claim/{}", options_.rank));
  const Status claimed = store_->claim(claim_key);
  if (claimed.ok()) claim_ = std::make_shared<const RankClaim>(store_, claim_key);
  if (claimed.code() != Code::exhausted) return claimed;
  const Status twice(
      Code::exhausted, Scope::engine,
      fmt::format("group '{}': rank {} is there already; another job may meet at the same store under this name ({})",
                  options_.name, options_.rank, claimed.message()));
  record_abort(twice, drawn_id());
  return twice;
}

void Rendezvous::record_abort(const Status& why, const std::string& id) {
  (void)store_->publish(key(kAbortReason), id + kind_of(why) + why.message());
}

Status Rendezvous::abort_reason() const {
  auto value = store_->get(key(kAbortReason), Nanos(0));
  if (!value.ok() || value->size() <= kIdChars || value->substr(0, kIdChars) == old_abort_reason_) return {};
  return decode_abort_reason(*value);
}

Result<std::vector<std::string>> Rendezvous::publish_and_collect(const std::string& what, const std::string& own) {
  const TimePoint give_up = deadline_after(options_.timeout);
  const auto key_of = [&](int rank) { return key(fmt::format("{}/{}", what, rank)); };
  published_.push_back(key_of(options_.rank));
  RW_TRY(store_->set(published_.back(), fmt::format("{} {}", options_.size, own)));
  std::vector<std::string> values(std::size_t(options_.size));
  std::vector<int> missing(std::size_t(options_.size));
  std::iota(missing.begin(), missing.end(), 0);
  for (;;) {
    const bool last = now() >= give_up;
    // Each round polls all missing ranks but waits for one only: a rank that gives up before us removes its value.
    Nanos patience = std::clamp<Nanos>(give_up - now(), Nanos(0), kRound);
    Status failed, differs;
    std::erase_if(missing, [&](int r) {
      if (!failed.ok() || !differs.ok()) return false;
      auto value = store_->get(key_of(r), patience);
      if (!value.ok()) patience = Nanos(0);
      if (!value.ok() && value.status().code() != Code::timed_out) failed = value.status();
      if (value.ok()) differs = take(r, *value, values[std::size_t(r)]);
      return value.ok();
    });
    if (missing.empty() && differs.ok()) {
      if (!came_) came_ = std::make_shared<const Announced>(Announced{what, values});
      return values;
    }
    RW_TRY(abort_reason());  // the first rank to see the difference published it
    if (!differs.ok()) record_abort(differs, drawn_id());
    RW_TRY(differs);
    RW_TRY(failed);
    if (last) break;
  }
  const std::string lack =
      came_ ? fmt::format("came (or left its keys when it was killed), but did not publish '{}'", what)
            : "did not come";
  const Status late(Code::timed_out, Scope::engine,
                    fmt::format("group '{}' of {} ranks: rank {} {} within {:g} s", options_.name, options_.size,
                                listed(missing), lack, double(options_.timeout.count()) / 1e9));
  if (keeps_store()) record_abort(late, drawn_id());
  return late;
}

// Parses what rank r published, "SIZE VALUE", into `value`. Errors: exhausted, SIZE is another group size.
Status Rendezvous::take(int r, const std::string& published, std::string& value) const {
  const std::size_t size_end = published.find(' ');
  const std::string size = published.substr(0, size_end);
  if (size == std::to_string(options_.size)) {
    value = published.substr(size_end + 1);
    return {};
  }
  return Status(
      Code::exhausted, Scope::engine,
      fmt::format(
          "group '{}': rank {} has group size {}, rank {} has {} (a job that was killed may have left a stale key)",
          options_.name, r, size, options_.rank, options_.size));
}

Status Rendezvous::begin() {
  if (options_.rank == 0) {  // no rank of this group knows its epoch yet: both keys are old
    RW_TRY(store_->remove(key(kFailure)));
    RW_TRY(store_->remove(key(kAbortReason)));
  }
  RW_ASSIGN_OR_RETURN(epoch_, agree("epoch", drawn_id()));
  return {};
}

Result<std::string> Rendezvous::agree(const std::string& what, const std::string& value) {
  if (options_.rank == 0) {
    published_.push_back(key(what));
    RW_TRY(store_->set(published_.back(), value));
    return value;
  }
  const TimePoint give_up = deadline_after(options_.timeout);
  for (;;) {
    const Nanos left = std::max<Nanos>(give_up - now(), Nanos(0));
    auto published = store_->get(key(what), std::min(left, kRound));
    if (published.ok()) return published;
    RW_TRY(given_up());  // rank 0 may have given up and removed its value
    RW_TRY(abort_reason());
    if (published.status().code() == Code::timed_out && left > kRound) continue;
    if (published.status().code() != Code::timed_out) return published;
    return Status(Code::timed_out, Scope::engine,
                  fmt::format("group '{}': rank 0 did not publish '{}' within {:g} s", options_.name, what,
                              double(options_.timeout.count()) / 1e9));
  }
}

Status Rendezvous::given_up() const {
  const std::string said = first_failure();
  return said.empty() ? Status()
                      : Status(Code::remote, Scope::session, fmt::format("group '{}': {}", options_.name, said));
}

void Rendezvous::give_up(const Status& why) {
  if (!epoch_.empty()) {
    (void)report_failure(why);
    // Ranks still in publish_and_collect() or begin() know no epoch and read the abort reason only. Each rank that
    // knows the failure publishes it as the abort reason before leaving; its next arrive() then reads an old one.
    if (const Status said = given_up(); !said.ok() && abort_reason().ok()) record_abort(said, epoch_);
    if (options_.rank == 0) await_departures();
  }
  tidy_up();
}

// Waits until the other ranks have removed their values of the first publish_and_collect(), for at most kDepartureMost.
// A rank that tries again publishes another value, and has left, too.
void Rendezvous::await_departures() const {
  const TimePoint enough = deadline_after(kDepartureMost);
  const auto is_here = [&](int r) {
    auto value = store_->get(key(fmt::format("{}/{}", came_->what, r)), Nanos(0));
    return value.ok() && value->ends_with(came_->values[std::size_t(r)]);
  };
  for (int r = 1; came_ && r < options_.size; ++r)
    while (now() < enough && is_here(r)) std::this_thread::sleep_for(kDeparturePoll);
}

void Rendezvous::tidy_up() {
  for (const std::string& own : published_) (void)store_->remove(own);  // a store that is gone holds no keys
  published_.clear();
}

std::string Rendezvous::report_failure(const Status& why) const {
  if (const std::string before = first_failure(); !before.empty()) return before;
  const std::string own = fmt::format("rank {} ", options_.rank);  // a rank that reports itself is named already
  const bool of_itself = why.message().starts_with(own);
  const Status published =
      store_->publish(key(kFailure), epoch_ + (of_itself ? "" : own + "reports: ") + why.message());
  if (published.ok()) return why.message();
  if (const std::string before = first_failure(); !before.empty()) return before;  // reported while the store ended
  // With the store gone, no rank could report why the lost peer left. The likely cause: the store's keeper is lost.
  const bool died = published.code() == Code::remote;
  const bool left = published.code() == Code::cancelled && why.code() == Code::left;
  if (keeper_ < 0 || keeper_ == options_.rank || !(died || left)) return why.message();
  return fmt::format("rank {} is lost: {}", keeper_, published.message());
}

void Rendezvous::publish_progress(const std::string& what) const {
  (void)store_->set(progress_key(options_.rank), epoch_ + what);  // other calls report a store that is gone
}

std::string Rendezvous::progress_of(int rank) const {
  auto report = store_->get(progress_key(rank), Nanos(0));
  return report.ok() && report->starts_with(epoch_) ? report->substr(epoch_.size()) : "";
}

void Rendezvous::withdraw_progress() const { (void)store_->remove(progress_key(options_.rank)); }

std::string Rendezvous::first_failure() const {
  if (epoch_.empty()) return "";  // before begin(), the key is of an earlier group
  auto failure = store_->get(key(kFailure), Nanos(0));
  return failure.ok() && failure->starts_with(epoch_) ? failure->substr(epoch_.size()) : "";
}

}  // namespace railweave::collectives
