// The streams between one rank of a group and the others, made when they are first wanted. Many operations share them:
// a stream belongs to one operation at a time, in issue order (StreamQueue).
//
// Wire: the first message on every stream is a StreamHello (peer_streams.cc), which tells whose it is; what follows is
// the operations'.
// Threads: under the runner's lock. Errors: of a stream or a connection, final; they name the rank.
// Life: destroying it closes every stream; memory of unfinished requests is not touched any more.
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

// Who may post on a stream: operations line up when they start, and leave when they have posted all they have for it.
class StreamQueue {
 public:
  void join(const void* operation) { line_.push_back(operation); }
  bool has(const void* operation) const { return !line_.empty() && line_.front() == operation; }
  // REQUIRES: has(operation).
  void leave() { line_.pop_front(); }

 private:
  std::deque<const void*> line_;
};

struct Outgoing {
  std::unique_ptr<SendStream> stream;  // null until connected
  StreamQueue turns;
};

struct Incoming {
  std::unique_ptr<RecvStream> stream;  // null until the peer's hello came
  StreamQueue turns;
  Status gone;  // why nothing more comes; Code::left: a peer that went in peace
};

class PeerStreams {
 public:
  // `handles`: every rank's listener, by rank; `listener` is our own.
  PeerStreams(std::shared_ptr<Engine> engine, int rank, std::vector<Handle> handles,
              std::unique_ptr<Listener> listener);
  ~PeerStreams();

  // The same object for good. `channel`: numbered by the caller, the same at both ends; `priority` of its first use
  // counts.
  Outgoing& to(int peer, int channel, Priority priority);
  Incoming& from(int peer, int channel);
  // Goes on with what is being connected; next to nothing when nothing is.
  // A peer that is awaited and gone is no error here: Incoming::gone tells who wants something from it.
  Status advance();
  // Why a peer that owes us something, though no message, is gone; ok as far as is known. Ask again now and then.
  Status check_peer(int peer) { return peer == rank_ ? Status() : watch(peer); }
  int rank() const { return rank_; }
  // The status with the rank's name in front of it.
  static Status lost(int peer, const Status& why);

 private:
  struct StreamHello {
    std::uint32_t magic = 0, rank = 0, channel = 0, reserved = 0;
  };
  struct Dialling {
    int peer = 0, channel = 0;
    Priority priority = Priority::normal;
    std::unique_ptr<Connector> connector;
    std::unique_ptr<SendStream> stream;  // its hello is on the way
    Request* request = nullptr;
    StreamHello hello;
  };
  struct Watch {
    Request* request = nullptr;  // ends when the peer does
    Status gone;
  };
  struct Arrival {
    std::unique_ptr<RecvStream> stream;
    Request* request = nullptr;
    StreamHello hello;
  };

  void check_awaited_peers();
  Status watch(int peer);
  Result<bool> advance(Dialling& dialling);
  Result<bool> advance(Arrival& arrival);
  Status accept();

  static constexpr std::uint32_t kMagic = 0x324c4352;  // "RCL2"
  static constexpr int kWatchChannel = 1 << 20;        // beyond those of operations
  static constexpr Nanos kPollEvery = std::chrono::milliseconds(300);
  const std::shared_ptr<Engine> engine_;
  const int rank_;
  const std::vector<Handle> handles_;
  const std::unique_ptr<Listener> listener_;
  std::map<std::pair<int, int>, Outgoing> outgoing_;  // peer, channel
  std::map<std::pair<int, int>, Incoming> incoming_;
  std::map<int, Watch> watches_;  // by peer
  std::list<Dialling> dialling_;  // a list: requests point into them
  std::deque<std::unique_ptr<Arrival>> arrivals_;
  int awaited_ = 0;        // incoming without a stream
  TimePoint polled_at_{};  // for those that are awaited; or when the first was
};

}  // namespace railweave::collectives
