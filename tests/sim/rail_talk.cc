#include "tests/sim/rail_talk.h"

#include <algorithm>

namespace railweave::sim {

void RailTalk::tell(int rail, std::size_t length) {
  if (from_.over() || from_.says_goodbye()) return;
  const std::uint64_t edition = ++editions_;
  std::string bytes = std::to_string(rail) + " " + std::to_string(edition) + " ";
  bytes.resize(std::max(bytes.size(), length), char('a' + edition % 26));
  told_[{rail, edition}] = bytes;
  last_[rail] = edition;
  from_.session().tell_rail({rail, edition, std::move(bytes)});
  from_.touch();
}

void RailTalk::hear() {
  for (const auto& news : to_.session().take_told_rails()) {
    const auto told = told_.find({news.rail, news.edition});
    const std::string what = to_.name() + ": rail " + std::to_string(news.rail) + ", edition " + std::to_string(news.edition);
    if (news.edition <= heard_[news.rail]) return fail_(what + " is told after edition " + std::to_string(heard_[news.rail]));
    if (told == told_.end() || told->second != news.bytes) return fail_(what + " is not what was told");
    heard_[news.rail] = news.edition;
    told_.erase(told_.lower_bound({news.rail, 0}), std::next(told));
  }
}

std::string RailTalk::state() const {
  std::string text = to_.name() + " heard of rails:";
  for (const auto& [rail, edition] : last_) {
    const auto heard = heard_.find(rail);
    text += " " + std::to_string(rail) + ": " + std::to_string(heard == heard_.end() ? 0 : heard->second) + " of " + std::to_string(edition);
  }
  return text;
}

}  // namespace railweave::sim
