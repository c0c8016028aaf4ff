#include "engine/reconcile/join_failures.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {

void JoinFailures::failed(const RailPair& rails, std::string why, bool logged) {
  auto known = std::ranges::find(failures_, rails, &Failure::rails);
  if (known == failures_.end()) known = failures_.insert(known, Failure{rails, 0, {}, false});
  ++known->tries;
  known->logged |= logged;
  known->why = std::move(why);
}

void JoinFailures::failed_by_link_local(const RailPair& rails, std::string why) {
  const auto known = std::ranges::find(failures_, rails, &Failure::rails);
  failed(rails, known == failures_.end() ? std::move(why) : known->why);
}

void JoinFailures::came_up(const RailPair& rails) {
  std::erase_if(failures_, [&](const Failure& failure) { return failure.rails == rails; });
}

bool JoinFailures::knows(const RailPair& rails) const {
  return std::ranges::find(failures_, rails, &Failure::rails) != failures_.end();
}

const JoinFailures::Failure* JoinFailures::of_ours(int rail, const std::vector<RailPair>& likelier) const {
  const auto is_its = [&](const Failure& failure) { return failure.rails.local == rail; };
  const auto is_likelier = [&](const Failure& failure) {
    return is_its(failure) && std::ranges::find(likelier, failure.rails) != likelier.end();
  };
  auto known = std::ranges::find_if(failures_, is_likelier);
  if (known == failures_.end()) known = std::ranges::find_if(failures_, is_its);
  return known == failures_.end() ? nullptr : &*known;
}

const JoinFailures::Failure* JoinFailures::of_peers(int rail) const {
  const auto known =
      std::ranges::find_if(failures_, [&](const Failure& failure) { return failure.rails.remote == rail; });
  return known == failures_.end() ? nullptr : &*known;
}

}  // namespace railweave::engine
