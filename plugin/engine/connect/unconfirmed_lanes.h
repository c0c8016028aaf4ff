// Lanes that this acceptor welcomed, and whose diallers' confirms have not come yet (docs/internals/protocol.md,
// "Handshake"). Such a lane carries nothing of ours: our packets may not reach the dialler, though the dialler's reach
// us.
//
// Bounded: beyond kMost the oldest is closed. Threads: the reactor's only. Destroying the object closes the
// connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "engine/connect/dial.h"
#include "engine/connect/handshake.h"
#include "engine/runtime/reactor.h"

namespace railweave::engine {

class UnconfirmedLanes {
 public:
  // to wait for a confirm, which the dialler writes as soon as it has the welcome
  static constexpr Nanos kTime = std::chrono::seconds(5);

  struct Entry {
    Hello hello;           // the dialler's first or join
    NewLane lane;          // has its connection once confirmed
    int dialled_rail = 0;  // rail of ours that was dialled; lane.rails.local: where the connection arrived
  };
  // Takes a confirmed entry, which is removed here before.
  using Confirmed = std::function<void(Entry entry)>;

  UnconfirmedLanes(Reactor& reactor, Confirmed confirmed) : reactor_(reactor), confirmed_(std::move(confirmed)) {}

  // Waits for the confirm of `entry` on the connection of `welcomed`. Any other message, or none within kTime, closes
  // the connection.
  void add(Handshake::Outcome welcomed, Entry entry);
  // Returns the entry of the first by which the sender of `join` began that session; null: none here.
  const Entry* first_of(const Hello& join) const;
  void clear() { waiting_.clear(); }

 private:
  static constexpr std::size_t kMost = 1024;

  struct Waiting {
    Entry entry;
    std::unique_ptr<Handshake> handshake;
  };
  void on_confirm(std::uint64_t number, Handshake::Outcome outcome);

  Reactor& reactor_;
  const Confirmed confirmed_;
  std::map<std::uint64_t, Waiting> waiting_;  // in order of arrival
  std::uint64_t next_ = 0;
};

}  // namespace railweave::engine
