#include "collectives/meeting.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

namespace railweave::collectives {
namespace {

std::string listed(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return ranks.size() > kShown ? text + fmt::format(" and {} more", ranks.size() - kShown) : text;
}

}  // namespace

Result<std::vector<std::string>> MeetingPlace::exchange(const std::string& what, const std::string& own) {
  const TimePoint give_up = now() + options_.timeout;
  const auto key_of = [&](int rank) { return key(fmt::format("{}/{}", what, rank)); };
  told_.push_back(key_of(options_.rank));
  RW_TRY(store_->set(told_.back(), own));
  std::vector<std::string> values;
  std::vector<int> missing;
  for (int r = 0; r < options_.size; ++r) {
    // Once the time is up the rest are asked for without waiting: the message names all that are missing.
    auto value = store_->get(key_of(r), std::max<Nanos>(give_up - now(), Nanos(0)));
    if (!value.ok() && value.status().code() != Code::timed_out) return value.status();
    if (!value.ok()) missing.push_back(r);
    values.push_back(value.ok() ? *value : "");
  }
  if (missing.empty()) return values;
  return Status(Code::timed_out, Scope::engine,
                fmt::format("group '{}' of {} ranks: rank {} did not come within {:g} s", options_.name, options_.size, listed(missing),
                            double(options_.timeout.count()) / 1e9));
}

Status MeetingPlace::begin() {
  std::string drawn;
  for (const auto byte : random_id()) drawn += fmt::format("{:02x}", byte);
  if (options_.rank == 0) RW_TRY(store_->remove(key("lost")));  // nobody of this group knows its life yet
  RW_ASSIGN_OR_RETURN(life_, agree("life", drawn));
  return {};
}

Result<std::string> MeetingPlace::agree(const std::string& what, const std::string& value) {
  if (options_.rank != 0) return store_->get(key(what), options_.timeout);
  told_.push_back(key(what));
  RW_TRY(store_->set(told_.back(), value));
  return value;
}

void MeetingPlace::tidy_up() {
  for (const std::string& told : told_) (void)store_->remove(told);  // a store that is gone has nothing left
  told_.clear();
}

std::string MeetingPlace::blame(const std::string& why) const {
  const std::string before = blamed();
  if (!before.empty()) return before;
  (void)store_->set(key("lost"), life_ + why);
  return why;
}

std::string MeetingPlace::blamed() const {
  auto said = store_->get(key("lost"), Nanos(0));
  return said.ok() && said->starts_with(life_) ? said->substr(life_.size()) : "";
}

}  // namespace railweave::collectives
