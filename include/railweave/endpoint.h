// The engine as its users see it (plugin/nccl, collectives/): listen, connect, post, test.
//
// Threads: an Engine may be used from any thread. One Listener, Connector or stream is used by one thread at a time,
// and different ones by different threads at once. post() and test() never block, never allocate and start no thread.
// Life: streams, listeners and connectors hold the engine alive. Destroying one never waits for the peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "railweave/config.h"
#include "railweave/device.h"
#include "railweave/log.h"
#include "railweave/stats.h"
#include "railweave/status.h"

namespace railweave {

// What a listener tells the peer that will connect to it. Bytes 0..111 are the engine's; 112..127 belong to the
// connector.
inline constexpr std::size_t kHandleBytes = 128;
inline constexpr std::size_t kHandleFixedBytes = 112;
using Handle = std::array<std::byte, kHandleBytes>;

// Requests a stream holds at most; post() answers null beyond it.
inline constexpr std::size_t kRequestsPerStream = 64;

// One posted send or receive. Lives in its stream; the pointer is valid until test() says done, then the slot is free.
class Request;

// Order of service among streams of a session: an earlier class overtakes a later one between two segments (and see
// SendStream::expedite()).
enum class Priority : std::uint8_t { urgent = 0, normal = 1, bulk = 2 };
inline constexpr int kPriorities = 3;

struct Progress {
  bool done = false;
  std::size_t bytes = 0;  // of the message; valid when done
  std::uint64_t tag = 0;  // of a receive: what its sender gave the message
};

// Common to both directions of a stream's ends.
class Stream {
 public:
  virtual ~Stream() = default;  // closes: unfinished requests end as cancelled, the peer is told, nobody waits

  // One atomic load, plus at most a fixed quantum of progress when the request is not done. After done=true or an error
  // the request must not be tested again. Errors: whatever ended the request; the first error of a stream sticks.
  virtual Result<Progress> test(Request* request) = 0;

  // Whether test() would end the request, without driving anything: one atomic load.
  virtual bool ended(const Request* request) const = 0;

  // After return neither the engine nor the kernel reads or writes [data, data+size) for this stream. Unfinished
  // requests on that memory end as cancelled, and so does the stream if there were any. May spin for a recv in flight
  // (microseconds); never waits for the peer.
  virtual void withdraw(const void* data, std::size_t size) = 0;
};

class SendStream : public Stream {
 public:
  // Sends `size` bytes (0 allowed) as the stream's next message; matches the peer's receives in posting order. The
  // bytes belong to the engine until the request is done. `tag` goes with them and chooses nothing: the receiver reads
  // it when the message is there. `order`: of a class's streams that have something to send, that goes first whose
  // oldest unsent message has the smallest; equal ones by turns. Null: no room now, post again later. Errors: the
  // stream has failed.
  virtual Result<Request*> post(const void* data, std::size_t size, std::uint64_t tag = 0, std::uint64_t order = 0) = 0;

  // Somebody waits for this stream's messages up to `order`, posted or to be posted: they go before what nobody waits
  // for, whatever the classes, and among what is waited for by order. For good, so orders should grow along a stream.
  virtual void expedite(std::uint64_t order) = 0;
};

// When a caller reads what it receives. meanwhile: while it lands (NCCL's LL and LL128 protocols); a byte is then never
// seen before those in front of it in its 128-byte line, at the price of one more copy and, over TCP, a system call
// for every 16 KiB.
enum class Reading { when_done, while_landing };

class RecvStream : public Stream {
 public:
  // Receives the stream's next message into [data, data+capacity). A shorter message is fine (Progress::bytes says how
  // long); a longer one is Code::truncated at both ends. Null: no room now.
  virtual Result<Request*> post(void* data, std::size_t capacity, Reading reading = Reading::when_done) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Null until a peer connected.
  virtual Result<std::unique_ptr<RecvStream>> accept() = 0;
};

class Connector {
 public:
  virtual ~Connector() = default;  // gives the attempt up
  // Null until the peer answered. Errors: unreachable, refused (with the peer's reason), timed out.
  virtual Result<std::unique_ptr<SendStream>> poll() = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;  // joins every thread; says goodbye to peers (bounded: 1 s)

  // Discovers rails, opens listeners, starts the reactor. Errors: invalid_config (message lists the interfaces there
  // are), exhausted, system.
  static Result<std::shared_ptr<Engine>> start(const Config& config);

  virtual const std::vector<Rail>& rails() const = 0;
  virtual const std::vector<Device>& devices() const = 0;
  // Whether it reaches peers on this host by shared memory, where they do, too (RAILWEAVE_SHM).
  virtual bool shares_memory() const = 0;

  // REQUIRES: 0 <= device < devices().size(). Fills `handle` (connector bytes zeroed).
  virtual Result<std::unique_ptr<Listener>> listen(int device, Handle& handle) = 0;

  // Never blocks. `traffic_class`: IP TOS octet of the session's lanes, 0..255; -1 = Config's. Errors: the handle is
  // not ours, is of another version, or is damaged (invalid_argument, saying which).
  virtual Result<std::unique_ptr<Connector>> connect(int device, const Handle& handle, int traffic_class = -1,
                                                     Priority priority = Priority::normal) = 0;

  virtual EngineStats stats() const = 0;
};

}  // namespace railweave
