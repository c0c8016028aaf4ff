// Point-to-point messages of a group: by tag, in order, from one rank or from any.
//
// Between two ranks there are channels in each direction: one for offers, one for clears, and one per priority for
// bodies. A sender offers a message. The receiver clears the offer once a receive matches. Bodies follow in the order
// of the clears. A message of up to kInlineMax bytes travels inside its offer. Offers and clears (envelopes) go before
// all other data: they are small, and the other end may wait for them.
//
// So an unmatched message does not delay the messages behind it, up to kUnclaimedBytesMax and kUnclaimedMax. Then no
// more offers of that peer are read until receives match some. If none of these offers matches a waiting receive, the
// group ends after kFullMost. All priorities share the channel of offers, so that messages match in the order of
// sending. Clears have a channel of their own, so that clears never wait behind offers.
//
// Errors: a peer that leaves is an error only for ranks that still need a message or a clear from this peer.
// Threads: under the runner's lock. Memory: the memory of a message is not accessed once its work is over, or the
// group's PeerStreams are destroyed.
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
  int peer = 0;  // rank; kAnySource: a receive from any rank
  std::uint32_t tag = 0;
  const void* source = nullptr;          // of a send
  void* target = nullptr;                // of a receive
  std::size_t bytes = 0;                 // of a send: its size; of a receive: its capacity
  Priority priority = Priority::normal;  // of a send
  std::uint64_t order = 0;               // of a send: see railweave::SendStream
};

class Messages {
 public:
  // `done(work, status, source, bytes)` ends a message's work. Channels from `first_channel` on are used. `streams`
  // outlives all calls but abandon().
  using Done = std::function<void(OperationWork&, Status, int, std::size_t)>;
  Messages(PeerStreams& streams, int ranks, int first_channel, Done done);

  // Begins a send or a receive. A receive may end in this call.
  void add(std::shared_ptr<OperationWork> work, const Message& message);
  // Does the work that can be done now. True: something moved. Errors name the rank, and are final.
  Result<bool> advance();
  // True while messages are unfinished, or envelopes are not sent yet.
  bool busy() const { return unfinished_ > 0 || envelopes_ > 0; }
  // Hands over all unfinished works, for the caller to end. No other call may follow.
  std::vector<std::shared_ptr<OperationWork>> abandon();

 private:
  static constexpr std::size_t kInlineMax = 8 * 1024;  // bytes of a message inside its offer
  // Most bytes, and most offers, kept from one peer while no receive matches them.
  static constexpr std::size_t kUnclaimedBytesMax = 64 * MiB, kUnclaimedMax = 64 * 1024;
  static constexpr Nanos kFullMost = std::chrono::seconds(5);
  enum Channel { kOffers = 0, kClears = 1, kBodies = 2 };  // relative to first_channel; kBodies + priority

  struct Envelope {
    enum Kind : std::uint32_t { offer = 1, clear = 2 };
    std::uint32_t kind = 0, tag = 0;
    std::uint64_t id = 0, bytes = 0;  // id: of the offer, by its sender. bytes: of the message; clear: 0 if too long
    std::uint32_t has_body = 0;       // offer: the message itself follows
    std::uint32_t priority = 0;       // offer: the body's Priority
  };
  // A send that waits for its clear, or a receive that waits for an offer.
  struct PendingMessage {
    std::shared_ptr<OperationWork> work;
    Message message;
    std::uint64_t id = 0;  // of a send: its offer's
  };
  // An offer or a clear on its way to a peer.
  struct QueuedEnvelope {
    std::vector<std::byte> data;
    Request* request = nullptr;           // null: not posted yet
    std::shared_ptr<OperationWork> ends;  // over once sent, since `data` has the body; null: none
  };
  // The bytes of a message, cleared and not over yet; one at each end.
  struct Body {
    std::shared_ptr<OperationWork> work;
    Message message;
    std::size_t bytes = 0;
    Request* request = nullptr;
  };
  // An offer received from a peer.
  struct Offer {
    Envelope envelope;
    std::vector<std::byte> body;
    std::size_t held_bytes() const { return sizeof(Offer) + body.size(); }
  };
  // The receiving end of a peer's channel of offers, or of clears.
  struct InboundChannel {
    Incoming* in = nullptr;        // null: not listening yet
    std::vector<std::byte> inbox;  // memory for the next envelope
    Request* request = nullptr;
  };
  struct Peer {
    std::uint64_t next_id = 0;                                             // of the next offer to the peer
    std::array<std::deque<std::unique_ptr<QueuedEnvelope>>, 2> envelopes;  // offers and clears to the peer, in order
    std::map<std::uint64_t, PendingMessage> offered;                       // sends not cleared yet, by id
    std::array<std::deque<Body>, kPriorities> bodies_out, bodies_in;       // in the order of clears
    std::array<InboundChannel, 2> inbound;                                 // of offers and of clears
    std::deque<Offer> offers;         // offers that no receive has matched, in order
    std::size_t unclaimed_bytes = 0;  // memory of `offers`
    TimePoint full_since{};           // since when full() and a receive waits for another message; TimePoint{}: no
    const Status* gone() const;       // why no more envelopes come; null: not known to be gone
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
  Status check_gone_peers() const;
  bool wants(int rank, const Peer& peer) const;
  Status check_overfull(int rank, Peer& peer);
  Status on_envelope(int rank, Peer& peer, Channel channel, std::span<const std::byte> data);
  void on_offer(int rank, Peer& peer, Offer offer);
  Status on_clear(Peer& peer, const Envelope& envelope);
  bool claim_old_offer(PendingMessage& wanted);
  void claim(int rank, Peer& peer, const Offer& offer, PendingMessage& wanted);
  void end(OperationWork& work, Status status, int source = -1, std::size_t bytes = 0);

  PeerStreams& streams_;
  const int first_channel_;
  const Done done_;
  std::vector<Peer> peers_;
  std::deque<PendingMessage> wanted_;  // receives without a message, in order
  int unfinished_ = 0;                 // works
  int envelopes_ = 0;                  // in Peer::envelopes of all peers
};

}  // namespace railweave::collectives
