// What one end of a session tells the other of its rails, and what must become of it: every statement arrives as it was
// told or is overtaken by a later one of its rail; none arrives twice, and the last one of each rail arrives. Some
// statements say how a rail is, as engines tell each other; others are of any bytes.
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

  // A new statement of that rail: `length` bytes. No effect at an end that says nothing any more. REQUIRES: rail <
  // kStates.
  void tell(int rail, std::size_t length);
  // How that rail is now. Likewise.
  void tell_state(int rail, const engine::PeerRail& is);
  // The other end heard the latter.
  std::function<void(int rail, const engine::PeerRail& is)> on_state;
  // The other end was told something.
  void apply();
  bool heard_all() const { return heard_ == last_; }
  std::string state() const;

 private:
  // the number of the rail whose states are told of first
  static constexpr int kStates = 32;

  void tell(int rail, const std::function<std::string(std::uint64_t edition)>& bytes);
  void hear_state(int rail, const std::string& bytes);

  SessionEnd& from_;
  SessionEnd& to_;
  const Fail fail_;
  std::uint64_t editions_ = 0;                 // of all rails
  std::map<int, std::uint64_t> last_, heard_;  // by rail: edition
  // by rail and edition; those overtaken are erased
  std::map<std::pair<int, std::uint64_t>, std::string> reported_;
};

}  // namespace railweave::sim
