// TurnRules checks from outside which segment goes next (protocol/round_robin.h). The caller calls before() and after()
// around every call in which an end may take one segment. Streams that are bound to certain rails are not checked: they
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
  static constexpr int kRanks = 1 + kPriorities;  // the first: expedited streams
  struct Seen {
    const protocol::SendStream* stream;
    int rank;
    std::uint64_t order;
    bool anywhere;  // may use any lane
  };

  struct Wait {  // of a stream, since its last segment
    int rank = 0;
    std::uint64_t order = 0;
    std::map<protocol::StreamId, std::uint64_t> bytes_ahead;  // by other stream of equal rank and order
  };
  void count_closed();
  void count_turns(const Seen& taken, std::uint64_t bytes);

  std::function<void(const std::string&)> wrong_;
  std::vector<Seen> seen_;
  std::vector<protocol::StreamId> asked_;  // all streams of the last before()
  std::map<protocol::StreamId, Wait> waits_;
  std::array<int, kRanks> overtaken_least_{}, overtaken_most_{};  // by rank: segments of earlier ranks
};

}  // namespace railweave::sim
