// A link of the simulated network: a rate, a queue and a delay each way, and the ways in which it can go wrong.
#pragma once

#include <array>
#include <cstddef>
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
};

class SimLink {
 public:
  SimLink(SimNetwork& net, const LinkSpec& spec) : net_(net), spec_(spec) {}

  const LinkSpec& spec() const { return spec_; }

  // From the next piece on, both ways. REQUIRES: rate > 0.
  void set_rate(Rate rate) { spec_.rate = rate; }

  // Down, and both ends see it at once: every lane is lost; what had arrived can still be read, the rest is gone.
  void cut();
  // A cut link carries new lanes again.
  void restore() { cut_ = false; }
  bool is_cut() const { return cut_; }

  // Nothing arrives any more, acknowledgements neither, and nobody is told.
  void silence() { silent_ = true; }
  // All that was held back arrives now, in order: at lanes that still exist. Others answer with a reset.
  void resume();
  bool is_silent() const { return silent_; }

  // --- for pipes and connections
  void add(std::weak_ptr<SimConnection> connection);
  // The pipe has something to send in `direction`: the link takes pieces from such pipes in turn while it has room.
  void wait(int direction, std::weak_ptr<SimPipe> pipe);
  void put(int direction, std::size_t bytes, std::function<void()> transmitted);
  // `what` reaches the other side now, or when the link is no longer silent, or never.
  void deliver(std::function<void()> what);

 private:
  struct Item {
    std::size_t bytes;
    std::function<void()> transmitted;
  };
  struct Direction {
    std::deque<Item> queue;  // front: under transmission
    std::size_t queued_bytes = 0;
    std::deque<std::weak_ptr<SimPipe>> waiting;
  };

  void fill(int direction);
  void transmit(int direction);

  SimNetwork& net_;
  LinkSpec spec_;
  std::array<Direction, 2> directions_;
  std::vector<std::weak_ptr<SimConnection>> connections_;
  std::deque<std::function<void()>> held_;  // while silent
  bool cut_ = false, silent_ = false;
};

}  // namespace railweave::wire
