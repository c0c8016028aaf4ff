// Logs when a rail stops carrying a session's data, and when the rail carries data again (docs/operate/reliability.md,
// "The log"). An event makes one line, however many lanes were lost. An orderly end makes no line.
//
// Threads: the reactor's only. A loss is logged after kSettle, or after kPatience where no lane is left. The delay
// serves peers that die or leave: their lanes end one after the other, and only the end of the session is logged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/rails/rail_warn_budget.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"
#include "railweave/device.h"

namespace railweave::engine {

class RailLog {
 public:
  static constexpr Nanos kSettle = std::chrono::milliseconds(50);
  static constexpr Nanos kPatience = std::chrono::seconds(1);

  // `rails` (ours) and `warn_budget` outlive this object. Destruction cancels losses not logged yet.
  RailLog(Reactor& reactor, const std::vector<Rail>& rails, std::shared_ptr<Session> session,
          RailWarnBudget& warn_budget);
  ~RailLog();

  // Call when lanes were lost or came up.
  void poll();

 private:
  void log_losses_later();
  void log_returns(const std::vector<RailPair>& open);
  void log_losses();
  void log(int rail, RailWarnBudget::About about, const std::string& what);

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  const std::shared_ptr<Session> session_;
  RailWarnBudget& warn_budget_;
  std::vector<LaneLoss> losses_;  // not logged yet; the first loss of each rail
  std::size_t lanes_before_ = 0;  // lanes before losses_; lanes lost together may be noticed one by one
  std::size_t lanes_left_ = 0;    // fewest lanes since the first of losses_: new ones may come up meanwhile
  std::uint64_t logged_ = 0;      // bit `rail`: its loss was logged, and the rail has not come back
  TimePoint lost_at_{};           // when poll() saw the first of losses_
  Reactor::TimerId timer_ = 0;    // set while there are losses_
};

}  // namespace railweave::engine
