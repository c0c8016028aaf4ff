// Two ends and a pipe each way. Outlives the lanes that look at it, as long as anything is under way.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "wire/sim/pipe.h"
#include "wire/sim/receiving.h"
#include "wire/sim/sending.h"
#include "wire/wire.h"

namespace railweave::wire {

class SimLane;
class SimLink;
class SimNetwork;

struct SimEnd {
  SimPipe out;
  SimSending sending;
  SimReceiving receiving;
  SimLane* lane = nullptr;  // none: destroyed
  Status lost;              // not ok: this end knows that the lane is lost
  bool wake_coming = false;

  SimEnd(SimNetwork& net, SimLink& link, SimConnection& connection, int number, Placement placement);
};

class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  static std::shared_ptr<SimConnection> make(SimNetwork& net, SimLink& link, Placement placement, std::uint64_t number);

  SimEnd& end(int i) { return ends_[std::size_t(i)]; }
  SimLink& link() const { return link_; }
  Placement placement() const { return placement_; }
  std::string name(int end) const;

  void opened(int end, SimLane& lane);
  void closed(int end);
  // Both ends know at once.
  void lose(const char* why);

  // From the pipes. arrived: false when nobody is there; the sender will hear of it.
  bool arrived(int end, const Piece& piece);
  void acknowledged(int end, std::uint64_t frame);

 private:
  SimConnection(SimNetwork& net, SimLink& link, Placement placement, std::uint64_t number);
  void reset_soon(int end);  // this end is told, one delay later, that the other is gone
  void lose_end(int end, const char* why);
  void wake(int end);

  SimNetwork& net_;
  SimLink& link_;
  const Placement placement_;
  const std::uint64_t number_;
  std::array<SimEnd, 2> ends_;
};

}  // namespace railweave::wire
