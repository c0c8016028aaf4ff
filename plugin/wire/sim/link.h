// SimLink is a link of the simulated network, with a rate, a queue and a delay in each direction, and with failures. A
// lane runs over one link from end to end, or over two, one at each end (a rail of each host). With two links, bytes
// leave by the sender's link and arrive by the receiver's. Threads: the network's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "railweave/units.h"

namespace railweave::wire {

class SimNetwork;
class SimPipe;
class SimConnection;

struct LinkSpec {
  std::string name = "sim";                           // the rail's name, at both ends
  Rate rate = Rate::from_megabits(10'000);            // in each direction
  Nanos delay = std::chrono::microseconds(20);        // one way, without queue and transmission
  std::size_t queue_bytes = 256 * KiB;                // bytes waiting for transmission, in each direction
  std::size_t send_buffer_bytes = 1 * MiB;            // written and not acknowledged, per lane and direction
  std::size_t receive_buffer_bytes = 1 * MiB;         // arrived and not read, per lane and direction
  std::size_t piece_bytes = 16 * KiB;                 // bytes travel in pieces of 1 to this size, drawn at random
  double pause_probability = 0.01;                    // that a piece arrives late, and delays the lane's next pieces
  Nanos pause_most = std::chrono::microseconds(200);  // the longest such delay
  // longest time from end() until a lane has ended, drawn at random; 0: ends at once
  Nanos ending_most{0};
};

class SimLink {
 public:
  SimLink(SimNetwork& net, const LinkSpec& spec) : net_(net), spec_(spec) {}

  const LinkSpec& spec() const { return spec_; }

  // Sets the rate of both directions at once, also for the rest of a piece under transmission. REQUIRES: rate > 0.
  void set_rate(Rate rate);

  // Takes the link down and loses every lane; both ends see the loss at once. Arrived bytes can still be read; all
  // others are lost.
  void cut();
  // Lets a cut link carry new lanes again.
  void restore() { cut_ = false; }
  bool is_cut() const { return cut_; }

  // Holds back all arrivals, acknowledgements included, without an error at either end. `direction`: 0: from the first
  // end of a lane, or out of the host that has this rail; 1: the other direction.
  void silence(int direction) { directions_[std::size_t(direction)].silent = true; }
  void silence() { silence(0), silence(1); }
  // Delivers all that was held back, in order, to lanes that still exist. Destroyed lanes answer with a reset.
  void resume(int direction);
  void resume() { resume(0), resume(1); }
  // Loses data from now on, as a path that drops large packets. Acknowledgements and SimLane::send_word() still pass. A
  // lane that lost data in one direction receives no more in this direction, even after lose_data(false).
  void lose_data(bool lose) { loses_data_ = lose; }
  bool loses_data() const { return loses_data_; }
  bool is_silent(int direction) const { return directions_[std::size_t(direction)].silent; }
  bool is_silent() const { return is_silent(0) || is_silent(1); }

  // --- called by pipes and connections
  void add(std::weak_ptr<SimConnection> connection);
  // Registers a pipe with bytes to send in `direction`. The link takes pieces from these pipes in turn while its queue
  // has room.
  void wait(int direction, std::weak_ptr<SimPipe> pipe);
  // Queues a piece, and calls `transmitted` at the end of its transmission.
  void put(int direction, std::size_t bytes, std::function<void()> transmitted);
  // Runs `what` now, when a silent link resumes, or never if the link is or will be cut.
  void deliver(int direction, std::function<void()> what);
  bool is_open(int direction) const { return !cut_ && !is_silent(direction); }

 private:
  struct Item {
    std::size_t bytes;
    std::function<void()> transmitted;
  };
  struct Direction {
    std::deque<Item> queue;  // front: under transmission
    std::size_t queued_bytes = 0;
    double left_bytes = 0;  // bytes of the front not transmitted at `left_at`
    TimePoint left_at;
    std::uint64_t timed = 0;  // ends of transmission scheduled so far; only the last one counts
    std::deque<std::weak_ptr<SimPipe>> waiting;
    std::deque<std::function<void()>> held;  // deliveries held back while silent
    bool silent = false;
  };

  void fill(int direction);
  void transmit(int direction);
  void foresee_end(int direction);
  void transmitted(int direction);

  SimNetwork& net_;
  LinkSpec spec_;
  std::array<Direction, 2> directions_;
  std::vector<std::weak_ptr<SimConnection>> connections_;
  bool cut_ = false, loses_data_ = false;
};

}  // namespace railweave::wire
