// What the lanes of a session found in the frames that arrived.
//
// Threads: any. A flag is set with every frame and written only when it was not set: its cache line stays where it is.
// No flag orders anything else.
#pragma once

#include <atomic>

namespace railweave::engine {

class ArrivalFlags {
 public:
  // A header came: the peer said something.
  void heard() { set(heard_); }
  bool was_heard() const { return heard_.load(std::memory_order_relaxed); }
  // A payload came with a CRC: RAILWEAVE_CHECKSUM is on at the peer.
  void peer_checks() { set(peer_checks_); }
  bool does_peer_check() const { return peer_checks_.load(std::memory_order_relaxed); }
  // A payload came that its CRC fits.
  void intact() { set(intact_); }
  // One came since the last call; at first as if one had.
  bool take_intact() { return intact_.exchange(false, std::memory_order_relaxed); }

 private:
  static void set(std::atomic<bool>& flag) {
    if (!flag.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
  }

  std::atomic<bool> heard_{false};
  std::atomic<bool> peer_checks_{false};
  std::atomic<bool> intact_{true};
};

}  // namespace railweave::engine
