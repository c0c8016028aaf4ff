// Lanes that we welcomed and that do not stand yet: their diallers' confirms are awaited (docs/internals/protocol.md,
// "Handshake"). A lane carries nothing of ours before: its packets to the dialler may lead nowhere, though the
// dialler's reach us.
//
// Bounded: beyond kMost the oldest is closed. On the reactor's thread only. Destroying it closes the connections.
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
  // for a confirm; its sender writes it as soon as it has the welcome
  static constexpr Nanos kTime = std::chrono::seconds(5);

  struct Entry {
    Hello hello;           // the dialler's: a first or a join
    NewLane lane;          // its connection is there once it is confirmed
    int dialled_rail = 0;  // ours, whose address was dialled; lane.rails.local is where the connection arrived
  };
  // A confirm came; the entry is no longer here.
  using Confirmed = std::function<void(Entry entry)>;

  UnconfirmedLanes(Reactor& reactor, Confirmed confirmed) : reactor_(reactor), confirmed_(std::move(confirmed)) {}

  // Waits for the confirm that belongs to `entry` on the connection of `welcomed`. What is no such confirm, or too
  // late, closes it.
  void add(Handshake::Outcome welcomed, Entry entry);
  // The first by which the sender of `join` began that session; null: there is none here.
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
