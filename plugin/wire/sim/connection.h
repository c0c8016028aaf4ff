// Two ends and a pipe each way, over one link or over two. Outlives the lanes that look at it, as long as anything is
// under way.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wire/sim/link.h"
#include "wire/sim/pipe.h"
#include "wire/sim/receiving.h"
#include "wire/sim/sending.h"
#include "wire/wire.h"

namespace railweave::wire {

class SimLane;
class SimNetwork;

struct SimEnd {
  SimPipe out;
  SimSending sending;
  SimReceiving receiving;
  SimLane* lane = nullptr;  // none: destroyed
  Status lost;              // not ok: this end knows that the lane is lost
  bool wake_coming = false;
  TimePoint heard_at{};  // anything of the other end's, acknowledgements too

  SimEnd(SimNetwork& net, SimLink& link, SimConnection& connection, int number);
};

class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  static std::shared_ptr<SimConnection> make(SimNetwork& net, SimLink& first, SimLink& second, std::uint64_t number);

  SimEnd& end(int i) { return ends_[std::size_t(i)]; }
  SimLink& link(int end) const { return *links_[std::size_t(end)]; }
  Nanos delay() const;  // one way
  // Which of the two queues of its own link end `from` sends by.
  int queue_of(int from) const { return links_[0] == links_[1] ? from : 0; }
  std::string name(int end) const;

  void opened(int end, SimLane& lane);
  void closed(int end);
  // Both ends know at once.
  void lose(const char* why);

  bool loses_data() const { return links_[0]->loses_data() || links_[1]->loses_data(); }
  // `what` gets through from that end to the other now, or later, or never.
  void deliver(int from, std::function<void()> what);
  // The same, one delay later.
  void send_word(int from, std::function<void()> what);
  TimePoint now() const;
  // When a lane that ends now has ended. Whoever drives it is called then.
  TimePoint draw_end(int end);
  // Something of the other end's came, if only that it is there.
  void heard(int end);
  // Asks the other end's kernel whether it is there, as TCP does of a shut window and of an idle connection.
  void probe(int end);

  // From the pipes. arrived: false when nobody is there; the sender will hear of it.
  bool arrived(int end, const SimPiece& piece);
  void acknowledged(int end);

 private:
  SimConnection(SimNetwork& net, SimLink& first, SimLink& second, std::uint64_t number);
  void reset_soon(int end);  // this end is told, one delay later, that the other is gone
  void lose_end(int end, const char* why);
  void wake(int end);

  SimNetwork& net_;
  const std::array<SimLink*, 2> links_;  // of each end; the same twice: one from end to end
  const std::uint64_t number_;
  std::array<SimEnd, 2> ends_;
};

}  // namespace railweave::wire
