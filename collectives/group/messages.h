// Point-to-point messages of a group: by tag, in order, from anyone.
//
// Between two ranks, each way, one channel carries offers, one clears, and one for each class the bodies of messages
// that are too long to ride in an offer. A sender offers; the receiver, once somebody wants the message, clears it;
// bodies come in the order they were cleared. Envelopes go before everything else, and what rides in them: they are
// small, and the other end may wait for them. So a message that nobody wants holds up none behind it, up to
// kUnclaimedBytesMax and kUnclaimedMax: then no more offers of that peer are heard until some are wanted. If none of
// them is what a receive waits for, the group ends after kFullMost. Offers have one channel for all classes, so that
// messages match in the order they were sent; clears have their own, so that they never wait behind offers.
// A peer that leaves is an error only to who wants something from it.
// Threads: under the runner's lock. Memory: a receive's is untouched once it is over, or the group's PeerStreams are
// gone.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "collectives/exec/peer_streams.h"
#include "collectives/group/operation_work.h"
#include "railweave/endpoint.h"

namespace railweave::collectives {

struct Message {
  bool sends = false;
  int peer = 0;  // kAnySource: a receive from anyone
  std::uint32_t tag = 0;
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t bytes = 0;                 // of a receive: its room
  Priority priority = Priority::normal;  // of a send
  std::uint64_t order = 0;               // likewise: see railweave::SendStream
};

class Messages {
 public:
  // `done(work, status, source, bytes)` ends a message's work. Uses channels from `first_channel` on.
  using Done = std::function<void(OperationWork&, Status, int, std::size_t)>;
  Messages(PeerStreams& streams, int ranks, int first_channel, Done done);

  void add(std::shared_ptr<OperationWork> work, const Message& message);
  // True: something moved. Errors name the rank.
  Result<bool> advance();
  // Messages are not over, or a peer waits for an envelope of ours.
  bool busy() const { return unfinished_ > 0 || envelopes_ > 0; }
  // Every work that is not over, which are ours no longer.
  std::vector<std::shared_ptr<OperationWork>> abandon();

 private:
  static constexpr std::size_t kInlineMax = 8 * 1024;
  // The most bytes and the most offers that are kept of one peer while nobody wants them.
  static constexpr std::size_t kUnclaimedBytesMax = 64 * MiB, kUnclaimedMax = 64 * 1024;
  static constexpr Nanos kFullMost = std::chrono::seconds(5);
  enum Channel { kOffers = 0, kClears = 1, kBodies = 2 };  // from first_channel on

  struct Envelope {
    enum Kind : std::uint32_t { offer = 1, clear = 2 };
    std::uint32_t kind = 0, tag = 0;
    std::uint64_t id = 0, bytes = 0;
    std::uint32_t has_body = 0;  // offer: the message itself follows
    std::uint32_t priority = 0;  // offer: the body's Priority
  };
  struct Parcel {
    std::shared_ptr<OperationWork> work;
    Message message;
    std::uint64_t id = 0;
  };
  struct Outbox {
    std::vector<std::byte> data;
    Request* request = nullptr;
    std::shared_ptr<OperationWork> ends;  // over with it: its body rides in here
  };
  struct Body {
    std::shared_ptr<OperationWork> work;
    Message message;
    std::size_t bytes = 0;
    Request* request = nullptr;
  };
  struct Offer {
    Envelope envelope;
    std::vector<std::byte> body;
    std::size_t held_bytes() const { return sizeof(Offer) + body.size(); }
  };
  // One of a peer's channels of envelopes, as we hear it.
  struct Ear {
    Incoming* in = nullptr;        // once it is listened to
    std::vector<std::byte> inbox;  // an envelope is due here
    Request* request = nullptr;
  };
  struct Peer {
    std::uint64_t next_id = 0;
    std::array<std::deque<std::unique_ptr<Outbox>>, 2> outboxes;  // offers and clears to it, in order
    std::map<std::uint64_t, Parcel> offered;                      // sends that it has not cleared
    std::array<std::deque<Body>, kPriorities> bodies_out, bodies_in;
    std::array<Ear, 2> ears;          // for offers and for clears
    std::deque<Offer> offers;         // that nobody wanted so far
    std::size_t unclaimed_bytes = 0;  // of them
    TimePoint full_since{};           // a receive waits, and none of them is what it waits for
    const Status* gone() const;       // why nothing more comes, or null
    bool full() const { return unclaimed_bytes >= kUnclaimedBytesMax || offers.size() >= kUnclaimedMax; }
  };

  void put(int to, const Envelope& envelope, const void* body, std::shared_ptr<OperationWork> ends);
  Result<bool> write(int rank, Peer& peer);
  Result<bool> write(int rank, Peer& peer, Channel channel);
  void listen_to(int rank, Channel channel);
  Result<bool> listen(int rank, Peer& peer);
  Result<bool> listen(int rank, Peer& peer, Channel channel);
  Result<bool> move_bodies(int rank, Peer& peer);
  Result<bool> move_bodies(int rank, Peer& peer, int priority);
  Status find_missed() const;
  bool wants(int rank, const Peer& peer) const;
  Status find_overfull(int rank, Peer& peer);
  Status heard(int rank, Peer& peer, Channel channel, std::span<const std::byte> data);
  void on_offer(int rank, Peer& peer, Offer offer);
  Status on_clear(Peer& peer, const Envelope& envelope);
  bool claim_old_offer(Parcel& wanted);
  void claim(int rank, Peer& peer, const Offer& offer, Parcel& wanted);
  void end(OperationWork& work, Status status, int source = -1, std::size_t bytes = 0);

  PeerStreams& streams_;
  const int first_channel_;
  const Done done_;
  std::vector<Peer> peers_;
  std::deque<Parcel> wanted_;  // receives without a message, in order
  int unfinished_ = 0;
  int envelopes_ = 0;  // in outboxes
};

}  // namespace railweave::collectives
