// RailTalk: the statements of one end of a session about its rails, and the check of what the other end receives. Each
// statement arrives unchanged, or a later one of its rail overtakes it. No statement arrives twice, and the last one of
// each rail always arrives. Some statements hold a rail's state, as engines announce it; others hold any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "tests/sim/session_end.h"

namespace railweave::sim {

class RailTalk {
 public:
  RailTalk(SessionEnd& from, SessionEnd& to, Fail fail) : from_(from), to_(to), fail_(std::move(fail)) {}

  // Announces a new statement about that rail, of `length` bytes or a few more. No effect at an end that is over or
  // leaves. REQUIRES: rail < kStates.
  void tell(int rail, std::size_t length);
  // Announces the state of that rail. No effect at an end that is over or leaves.
  void tell_state(int rail, const engine::PeerRail& is);
  // The other end received a state.
  std::function<void(int rail, const engine::PeerRail& is)> on_state;
  // The other end received statements: checks them, and calls on_state for states.
  void apply();
  bool heard_all() const { return heard_ == last_; }
  std::string state() const;

 private:
  // states of rail r are announced under the number kStates + r
  static constexpr int kStates = 32;

  void tell(int rail, const std::function<std::string(std::uint64_t edition)>& bytes);
  void hear_state(int rail, const std::string& bytes);

  SessionEnd& from_;
  SessionEnd& to_;
  const Fail fail_;
  std::uint64_t editions_ = 0;                 // given so far, over all rails
  std::map<int, std::uint64_t> last_, heard_;  // by rail: edition announced, edition received
  // announced bytes, by rail and edition; erased once received or overtaken
  std::map<std::pair<int, std::uint64_t>, std::string> reported_;
};

}  // namespace railweave::sim
