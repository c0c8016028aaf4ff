// A link of the simulated network: a rate, a queue and a delay each way, and the ways in which it can go wrong. A lane
// runs over one link, from end to end; or over two, one at either end (a rail of each host): out by its sender's, in by
// its receiver's.
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
  std::string name = "sim";                           // of the rail, at both ends
  Rate rate = Rate::from_megabits(10'000);            // each way
  Nanos delay = std::chrono::microseconds(20);        // one way, without queue and transmission
  std::size_t queue_bytes = 256 * KiB;                // that wait in the link for transmission, each way
  std::size_t send_buffer_bytes = 1 * MiB;            // per lane and direction: written and not acknowledged
  std::size_t receive_buffer_bytes = 1 * MiB;         // per lane and direction: arrived and not read
  std::size_t piece_bytes = 16 * KiB;                 // bytes travel in pieces of 1 to this many, drawn at random
  double pause_probability = 0.01;                    // that a piece, and all behind it on its lane, comes late ...
  Nanos pause_most = std::chrono::microseconds(200);  // ... by up to this
  // a lane takes up to this, drawn at random, from end() until it has ended
  Nanos ending_most{0};
};

class SimLink {
 public:
  SimLink(SimNetwork& net, const LinkSpec& spec) : net_(net), spec_(spec) {}

  const LinkSpec& spec() const { return spec_; }

  // From now on, both ways: what is left of a piece under transmission, too. REQUIRES: rate > 0.
  void set_rate(Rate rate);

  // Down, and both ends see it at once: every lane is lost; what had arrived can still be read, the rest is gone.
  void cut();
  // A cut link carries new lanes again.
  void restore() { cut_ = false; }
  bool is_cut() const { return cut_; }

  // Nothing arrives any more, acknowledgements neither, and nobody is told. `direction`: 0 from the first end of a
  // lane, or out of the host whose rail this is; 1 the other way.
  void silence(int direction) { directions_[std::size_t(direction)].silent = true; }
  void silence() { silence(0), silence(1); }
  // All that was held back arrives now, in order: at lanes that still exist. Others answer with a reset.
  void resume(int direction);
  void resume() { resume(0), resume(1); }
  // From now on words and acknowledgements pass and data does not, as where packets above some size are lost; of a lane
  // that lost some no more arrives, whatever becomes of the link.
  void lose_data(bool lose) { loses_data_ = lose; }
  bool loses_data() const { return loses_data_; }
  bool is_silent(int direction) const { return directions_[std::size_t(direction)].silent; }
  bool is_silent() const { return is_silent(0) || is_silent(1); }

  // --- for pipes and connections
  void add(std::weak_ptr<SimConnection> connection);
  // The pipe has something to send in `direction`: the link takes pieces from such pipes in turn while it has room.
  void wait(int direction, std::weak_ptr<SimPipe> pipe);
  void put(int direction, std::size_t bytes, std::function<void()> transmitted);
  // `what` gets through now, or when the link is no longer silent, or never.
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
    double left_bytes = 0;    // of the front, at ...
    TimePoint left_at;        // ... this time
    std::uint64_t timed = 0;  // ends of transmission foreseen: the last one holds
    std::deque<std::weak_ptr<SimPipe>> waiting;
    std::deque<std::function<void()>> held;  // while silent
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
