#include "tests/sim/rail_talk.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "engine/connect/hello.h"

namespace railweave::sim {

void RailTalk::tell(int rail, std::size_t length) {
  assert(rail < kStates);
  tell(rail, [&](std::uint64_t edition) {
    std::string bytes = std::to_string(rail) + " " + std::to_string(edition) + " ";
    bytes.resize(std::max(bytes.size(), length), char('a' + edition % 26));
    return bytes;
  });
}

void RailTalk::tell_state(int rail, const engine::PeerRail& is) {
  tell(kStates + rail, [&](std::uint64_t) {
    const std::vector<std::byte> bytes = engine::encode_rail(is);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

void RailTalk::tell(int rail, const std::function<std::string(std::uint64_t edition)>& bytes) {
  if (from_.over() || from_.says_goodbye()) return;
  const std::uint64_t edition = ++editions_;
  const std::string& told = reported_[{rail, edition}] = bytes(edition);
  last_[rail] = edition;
  from_.session().announce_rail({rail, edition, told});
  from_.touch();
}

void RailTalk::apply() {
  for (const auto& news : to_.session().drain_rail_updates()) {
    const auto told = reported_.find({news.rail, news.edition});
    const std::string what =
        to_.name() + ": rail " + std::to_string(news.rail) + ", edition " + std::to_string(news.edition);
    if (news.edition <= heard_[news.rail])
      return fail_(what + " is told after edition " + std::to_string(heard_[news.rail]));
    if (told == reported_.end() || told->second != news.bytes) return fail_(what + " is not what was told");
    heard_[news.rail] = news.edition;
    reported_.erase(reported_.lower_bound({news.rail, 0}), std::next(told));
    if (news.rail >= kStates) hear_state(news.rail - kStates, news.bytes);
  }
}

void RailTalk::hear_state(int rail, const std::string& bytes) {
  Result<engine::PeerRail> is = engine::decode_rail(std::as_bytes(std::span(bytes)));
  if (!is.ok()) return fail_(to_.name() + ": rail " + std::to_string(rail) + ": " + std::string(is.status().message()));
  on_state(rail, *is);
}

std::string RailTalk::state() const {
  std::string text = to_.name() + " heard of rails:";
  for (const auto& [rail, edition] : last_) {
    const auto heard = heard_.find(rail);
    text += " " + std::to_string(rail) + ": " + std::to_string(heard == heard_.end() ? 0 : heard->second) + " of " +
            std::to_string(edition);
  }
  return text;
}

}  // namespace railweave::sim
