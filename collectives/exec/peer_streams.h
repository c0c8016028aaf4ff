// The streams between one rank of a group and the other ranks, connected at first use. Many operations share a stream:
// a stream belongs to one operation at a time, in issue order (StreamQueue).
//
// Wire: the first message on every stream is a StreamHello with the sender's rank and channel. All further messages
// belong to operations.
// Threads: under the runner's lock. Errors: an error of a stream or a connection is final and names the peer's rank.
// Lifetime: destruction closes every stream; memory of unfinished requests is not accessed any more.
#pragma once

#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "railweave/endpoint.h"

namespace railweave::collectives {

// Decides which operation may post on a stream. An operation joins at its start, and leaves after posting its last
// message on the stream.
class StreamQueue {
 public:
  void join(const void* operation) { operations_.push_back(operation); }
  bool has(const void* operation) const { return !operations_.empty() && operations_.front() == operation; }
  // REQUIRES: has(operation).
  void leave() { operations_.pop_front(); }

 private:
  std::deque<const void*> operations_;  // in issue order; the first may post
};

struct Outgoing {
  std::unique_ptr<SendStream> stream;  // null until connected
  StreamQueue queue;
};

struct Incoming {
  std::unique_ptr<RecvStream> stream;  // null until the peer's hello came
  StreamQueue queue;
  Status gone;  // not ok: no more messages come, and why; Code::left: the peer left in an orderly way
};

class PeerStreams {
 public:
  // `handles`: every rank's listener, by rank. `listener`: this rank's own.
  PeerStreams(std::shared_ptr<Engine> engine, int rank, std::vector<Handle> handles,
              std::unique_ptr<Listener> listener);
  ~PeerStreams();

  // The stream to, or from, a peer on a channel: the same object at each call. The first to() begins to connect, with
  // its `priority`. `channel`: numbered by the caller, below 2^20, the same at both ends.
  Outgoing& to(int peer, int channel, Priority priority);
  Incoming& from(int peer, int channel);
  // Advances connections that are under way; cheap when there are none. Errors: a dial or the listener failed. An
  // awaited peer that is gone is no error here: Incoming::gone has the reason, for callers that need the peer.
  Status advance();
  // Returns why a peer is gone that owes us something other than a message; ok: not known to be gone. The check
  // continues in advance(): call repeatedly.
  Status check_peer(int peer) { return peer == rank_ ? Status() : watch(peer); }
  int rank() const { return rank_; }
  // Returns `why` with "rank N is lost: " in front of its message. Says what a refused connection means.
  static Status lost(int peer, const Status& why);

 private:
  struct StreamHello {
    std::uint32_t magic = 0, rank = 0, channel = 0, reserved = 0;
  };
  struct Dialling {
    int peer = 0, channel = 0;
    Priority priority = Priority::normal;
    std::unique_ptr<Connector> connector;
    std::unique_ptr<SendStream> stream;  // connected, the hello not sent yet; null: connecting
    Request* request = nullptr;          // of the hello
    StreamHello hello;
  };
  struct Watch {
    Request* request = nullptr;  // ends when the peer is gone
    Status gone;                 // why the peer is gone; ok: not known to be gone
  };
  struct Arrival {
    std::unique_ptr<RecvStream> stream;  // accepted, the hello not received yet
    Request* request = nullptr;          // of the hello
    StreamHello hello;
  };

  void check_awaited_peers();
  Status watch(int peer);
  Result<bool> advance(Dialling& dialling);
  Result<bool> advance(Arrival& arrival);
  Status accept();

  static constexpr std::uint32_t kMagic = 0x324c4352;                  // "RCL2"
  static constexpr int kWatchChannel = 1 << 20;                        // beyond the channels of operations
  static constexpr Nanos kPollEvery = std::chrono::milliseconds(300);  // of awaited peers
  const std::shared_ptr<Engine> engine_;
  const int rank_;
  const std::vector<Handle> handles_;
  const std::unique_ptr<Listener> listener_;
  std::map<std::pair<int, int>, Outgoing> outgoing_;  // by peer and channel
  std::map<std::pair<int, int>, Incoming> incoming_;  // by peer and channel
  std::map<int, Watch> watches_;                      // by peer
  std::list<Dialling> dialling_;                      // a list, because requests point into the elements
  std::deque<std::unique_ptr<Arrival>> arrivals_;
  int awaited_ = 0;        // entries of incoming_ without a stream
  TimePoint polled_at_{};  // last check of awaited peers, or begin of waiting; TimePoint{}: no peer is awaited
};

}  // namespace railweave::collectives
