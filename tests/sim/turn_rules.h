// Whose segment may go: the promises of protocol/round_robin.h, checked from outside. Around every call in which an end
// may take one segment it sees which streams wait before and after. Streams bound to certain rails are left out: they
// may have to wait.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "protocol/session_protocol.h"

namespace railweave::sim {

class TurnRules {
 public:
  explicit TurnRules(std::function<void(const std::string&)> wrong) : wrong_(std::move(wrong)) {}

  void before(const std::vector<const protocol::SendStream*>& streams);
  void after(const protocol::FrameHeader& frame);

 private:
  static constexpr int kRanks = 1 + kPriorities;  // expedited ones first
  struct Seen {
    const protocol::SendStream* stream;
    int rank;
    std::uint64_t order;
    bool anywhere;  // it may use any lane
  };

  struct Wait {  // since its last segment
    int rank = 0;
    std::uint64_t order = 0;
    std::map<protocol::StreamId, std::uint64_t> bytes_ahead;  // of equals
  };
  void count_closed();
  void count_turns(const Seen& taken, std::uint64_t bytes);

  std::function<void(const std::string&)> wrong_;
  std::vector<Seen> seen_;
  std::vector<protocol::StreamId> asked_;  // all that before() was told of
  std::map<protocol::StreamId, Wait> waits_;
  std::array<int, kRanks> overtaken_least_{}, overtaken_most_{};  // by segments since its last one
};

}  // namespace railweave::sim
