// Says in the log when a rail stops carrying a session's data and when it does again (docs/operate/reliability.md, "The
// log"): one line for one event, however many lanes it cost, and none of an orderly end.
//
// On the reactor's thread only. It waits kSettle before it says what was lost, and kPatience where no lane is left: a
// peer that dies or leaves ends its lanes one after the other, and then the session's end says all there is to say.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/runtime/reactor.h"
#include "engine/session/session.h"
#include "railweave/device.h"

namespace railweave::engine {

// Bounds an engine's lines at WARN about its rails. A rail that is lost concerns every peer: the first few peers are
// named at WARN, the others at INFO. One thread at a time.
class RailLines {
 public:
  static constexpr int kPeersMost = 4;
  static constexpr Nanos kWindow = std::chrono::seconds(10);
  static constexpr int kNoRail = -1;  // lines about a peer on all rails

  enum class About { loss, comeback };
  bool may_warn(int rail, About about, TimePoint t);

 private:
  struct Lately {
    TimePoint since = TimePoint::min();
    int lines = 0;
  };
  std::map<std::pair<int, About>, Lately> lately_;
};

class RailLog {
 public:
  static constexpr Nanos kSettle = std::chrono::milliseconds(50);
  static constexpr Nanos kPatience = std::chrono::seconds(1);

  // `rails` (ours) and `lines` outlive it.
  RailLog(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<Session> session, RailLines& lines);
  ~RailLog();

  // Lanes were lost, or came.
  void poll();

 private:
  void announce_losses_later();
  void log_returns(const std::vector<RailPair>& open);
  void announce_losses();
  void log(int rail, RailLines::About about, const std::string& what);

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  const std::shared_ptr<Session> session_;
  RailLines& lines_;
  std::vector<LaneLoss> losses_;  // not told yet; the first of each rail
  std::size_t lanes_before_ = 0;  // the first of them; of lanes that went together some may be told of later
  std::size_t lanes_left_ = 0;    // the fewest since: others come up in their stead meanwhile
  std::uint64_t reported_ = 0;    // bits of rails that were told of and have not come back
  TimePoint lost_at_{};           // the first of them was
  Reactor::TimerId timer_ = 0;    // set while there are losses
};

}  // namespace railweave::engine
