// What one end of a session tells the other of its rails, and what must become of it: every statement arrives as it was told or
// is overtaken by a later one of its rail; none arrives twice, and the last one of each rail arrives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/sim/session_end.h"

namespace railweave::sim {

class RailTalk {
 public:
  RailTalk(SessionEnd& from, SessionEnd& to, Fail fail) : from_(from), to_(to), fail_(std::move(fail)) {}

  // A new statement of that rail: `length` bytes. No effect at an end that says nothing any more.
  void tell(int rail, std::size_t length);
  // The other end was told something.
  void hear();
  bool heard_all() const { return heard_ == last_; }
  std::string state() const;

 private:
  SessionEnd& from_;
  SessionEnd& to_;
  const Fail fail_;
  std::uint64_t editions_ = 0;                                      // of all rails
  std::map<int, std::uint64_t> last_, heard_;                       // by rail: edition
  std::map<std::pair<int, std::uint64_t>, std::string> told_;       // by rail and edition; those overtaken are erased
};

}  // namespace railweave::sim
