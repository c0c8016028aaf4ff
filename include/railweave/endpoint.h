// The engine's interface for its users (plugin/nccl, collectives/): listen, connect, post, test.
//
// Threads: an Engine may be used from any thread. One Listener, Connector or stream is used by one thread at a time,
// and different ones by different threads at once. post() and test() never block, never allocate and start no thread.
// Lifetime: streams, listeners and connectors keep the engine alive. Destroying one never waits for the peer.
// Fork: in a forked child the parent's engine is dead. Calls that can fail return Code::internal there.
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

// The address of a listener, for the peer that connects to it. The engine fills bytes 0..111; bytes 112..127 belong to
// the connector.
inline constexpr std::size_t kHandleBytes = 128;
inline constexpr std::size_t kHandleFixedBytes = 112;
using Handle = std::array<std::byte, kHandleBytes>;

// Most requests that a stream holds at once; beyond this number post() returns null.
inline constexpr std::size_t kRequestsPerStream = 64;

// One posted send or receive, owned by its stream. The pointer is valid until test() returns done or an error.
class Request;

// Order of service among the streams of a session: a stream of an earlier priority overtakes a stream of a later one
// between two segments. SendStream::expedite() overrides the priority.
enum class Priority : std::uint8_t { urgent = 0, normal = 1, bulk = 2 };
inline constexpr int kPriorities = 3;

struct Progress {
  bool done = false;
  std::size_t bytes = 0;  // size of the message; valid when done
  std::uint64_t tag = 0;  // receives only: the tag that the sender gave the message; valid when done
};

// One end of a stream, of either direction.
class Stream {
 public:
  // Closes the stream: unfinished requests end as cancelled, and the peer is notified. Waits for neither.
  virtual ~Stream() = default;

  // Costs one atomic load, plus at most a fixed quantum of progress when the request is not done. After done=true or an
  // error the request must not be tested again. Errors: the error that ended the request; a stream keeps its first.
  virtual Result<Progress> test(Request* request) = 0;

  // True if test() would end the request. Makes no progress: one atomic load.
  virtual bool ended(const Request* request) const = 0;

  // After return neither the engine nor the kernel reads or writes [data, data+size) for this stream. Unfinished
  // requests on this memory end as cancelled; if there were any, the stream ends as cancelled, too. The call may spin
  // for a recv in progress (microseconds) and never waits for the peer.
  virtual void withdraw(const void* data, std::size_t size) = 0;
};

class SendStream : public Stream {
 public:
  // Sends `size` bytes (0 allowed) as the stream's next message; messages match the peer's receives in posting order.
  // Memory: the bytes belong to the engine until the request is done. `tag` is delivered with the message and selects
  // nothing. `order`: among streams of one priority with data to send, the smallest order of an oldest unsent message
  // goes first; equal ones take turns. Null: no free request, post again later. Errors: invalid_argument (over 2^40
  // bytes). On a failed stream the request ends with the stream's error.
  virtual Result<Request*> post(const void* data, std::size_t size, std::uint64_t tag = 0, std::uint64_t order = 0) = 0;

  // Marks this stream's messages up to `order`, posted or to be posted, as awaited by a caller. Awaited messages go
  // before all others of the session, whatever the priorities, and among themselves by order. The mark is permanent, so
  // orders should grow along a stream.
  virtual void expedite(std::uint64_t order) = 0;
};

// When the caller reads the memory of a receive. while_landing: before the request is done (NCCL's LL and LL128
// protocols). Then no byte is visible before the bytes in front of it in its 128-byte line. The price is one more copy
// and, over TCP, a system call for every 16 KiB.
enum class Reading { when_done, while_landing };

class RecvStream : public Stream {
 public:
  // Receives the stream's next message into [data, data+capacity). A shorter message is allowed (Progress::bytes has
  // its size); a longer one fails with Code::truncated at both ends. Null, Errors: as SendStream::post().
  virtual Result<Request*> post(void* data, std::size_t capacity, Reading reading = Reading::when_done) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  // Null until a peer has connected. Never blocks.
  virtual Result<std::unique_ptr<RecvStream>> accept() = 0;
};

class Connector {
 public:
  virtual ~Connector() = default;  // cancels the attempt, if the stream was not taken
  // Null until the peer has answered. Never blocks. Errors: the peer is unreachable, refused (with the peer's reason),
  // or did not answer in time (timed_out, RAILWEAVE_CONNECT_TIMEOUT).
  virtual Result<std::unique_ptr<SendStream>> poll() = 0;
};

class Engine {
 public:
  // Sends GOODBYE to the peers, gives them up to 1 s to take it, then joins every thread. A reactor that is busy or
  // without memory prolongs this to 20 s.
  virtual ~Engine() = default;

  // Discovers rails, opens listeners, starts the reactor. Errors: invalid_config (the message lists the host's
  // interfaces), exhausted, system.
  static Result<std::shared_ptr<Engine>> start(const Config& config);

  virtual const std::vector<Rail>& rails() const = 0;
  virtual const std::vector<Device>& devices() const = 0;
  // True if the engine uses shared memory to peers on this host that have the setting on, too (RAILWEAVE_SHM).
  virtual bool shares_memory() const = 0;

  // Fills `handle` (connector bytes zeroed). Errors: invalid_argument unless 0 <= device < devices().size().
  virtual Result<std::unique_ptr<Listener>> listen(int device, Handle& handle) = 0;

  // Never blocks. `traffic_class`: IP TOS octet of the session's lanes, 0..255; -1 = Config's. Errors: invalid_argument
  // for a device as above, and for a handle that is not Railweave's, of another version or damaged; the message says
  // which.
  virtual Result<std::unique_ptr<Connector>> connect(int device, const Handle& handle, int traffic_class = -1,
                                                     Priority priority = Priority::normal) = 0;

  virtual EngineStats stats() const = 0;
};

}  // namespace railweave
