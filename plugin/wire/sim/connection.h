// SimConnection joins the two ends of a simulated lane by a pipe in each direction, over one link or two.
// Lifetime: shared by its lanes and by every event in flight, so a connection may outlive its lanes.
// Threads: the network's.
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
  SimLane* lane = nullptr;   // null: destroyed
  Status lost;               // not ok: this end knows that the lane is lost, and why
  bool wake_coming = false;  // a call of on_ready is scheduled
  TimePoint heard_at{};      // last arrival from the other end, acknowledgements included

  SimEnd(SimNetwork& net, SimLink& link, SimConnection& connection, int number);
};

class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  static std::shared_ptr<SimConnection> make(SimNetwork& net, SimLink& first, SimLink& second, std::uint64_t number);

  SimEnd& end(int i) { return ends_[std::size_t(i)]; }
  SimLink& link(int end) const { return *links_[std::size_t(end)]; }
  Nanos delay() const;  // one way, over all links
  // Returns the queue, 0 or 1, that end `from` uses on its own link.
  int queue_of(int from) const { return links_[0] == links_[1] ? from : 0; }
  std::string name(int end) const;  // in messages: "sim-a:7"

  void opened(int end, SimLane& lane);
  void closed(int end);
  // Loses the lane at both ends at once. `why`: for the message.
  void lose(const char* why);

  bool loses_data() const { return links_[0]->loses_data() || links_[1]->loses_data(); }
  // Runs `what` as an arrival from end `from` at the other end: now, when silent links resume, or never if one is cut.
  void deliver(int from, std::function<void()> what);
  // Calls deliver() one delay later.
  void send_word(int from, std::function<void()> what);
  TimePoint now() const;
  // Draws when a lane that ends now will have ended, and schedules its on_ready for this time.
  TimePoint draw_end(int end);
  // Notes an arrival from the other end, acknowledgements and answers to probes included.
  void heard(int end);
  // Sends a probe to the other end's kernel, as TCP does for a closed window and on an idle connection.
  void probe(int end);

  // Called by the pipes. arrived() returns false if the lane of `end` is destroyed; the sender is then reset, unless
  // the piece was the end of the stream.
  bool arrived(int end, const SimPiece& piece);
  void acknowledged(int end);

 private:
  SimConnection(SimNetwork& net, SimLink& first, SimLink& second, std::uint64_t number);
  void reset_soon(int end);  // one delay later this end learns that the other is gone
  void lose_end(int end, const char* why);
  void wake(int end);

  SimNetwork& net_;
  const std::array<SimLink*, 2> links_;  // one for each end; equal: one link from end to end
  const std::uint64_t number_;
  std::array<SimEnd, 2> ends_;
};

}  // namespace railweave::wire
