// Flags that the lanes of a session set by the frames that arrive.
//
// Threads: any. A flag that is set already is not written again: with one write a frame, threads would contend for its
// cache line. The flags order no other memory access.
#pragma once

#include <atomic>

namespace railweave::engine {

class ArrivalFlags {
 public:
  // A header arrived from the peer.
  void heard() { set(heard_); }
  bool was_heard() const { return heard_.load(std::memory_order_relaxed); }
  // A payload arrived with a CRC: RAILWEAVE_CHECKSUM is on at the peer.
  void peer_checks() { set(peer_checks_); }
  bool does_peer_check() const { return peer_checks_.load(std::memory_order_relaxed); }
  // A payload arrived, and its CRC is right.
  void intact() { set(intact_); }
  // True: an intact payload arrived since the last call, or this is the first call.
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
