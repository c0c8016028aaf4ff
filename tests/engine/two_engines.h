// Shared by the engine's tests: engines on loopback, joined ends, checked messages, the log.
// A step that does not succeed within its patience fails the test with a message and returns an empty value.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "railweave/endpoint.h"
#include "tests/sanitizers.h"

namespace railweave::engine_test {

Config loopback();  // under a sanitizer with a longer connect timeout, for hundreds of connects
// Starts an engine on rail "lo". Returns null after a test failure.
std::shared_ptr<Engine> start_engine(const Config& config = loopback());

// Returns a deadline that the product promises, extended: sanitizers make everything slower, and the machine is shared.
constexpr Nanos deadline(Nanos promised) { return (kSanitized ? 4 : 3) * promised; }
// Returns a limit for tests that show that nothing waited for a timeout a little longer than `limit`. Only sanitizers
// extend it.
constexpr Nanos sooner_than_waiting(Nanos limit) { return (kSanitized ? 4 : 1) * limit; }

// Polls `done` until it is true, with short sleeps; false after `patience`.
bool eventually(const std::function<bool()>& done, Nanos patience = std::chrono::seconds(20));

// Both ends of one stream.
struct Ends {
  std::unique_ptr<SendStream> send;
  std::unique_ptr<RecvStream> recv;
  explicit operator bool() const { return send && recv; }
};
Ends join(Engine& from, Engine& to);
// Polls a connector and a listener until each has its end of the stream.
Ends meet(Connector& connector, Listener& listener, Nanos patience = std::chrono::seconds(20));

// Posts, and spins while the stream has no room.
Request* post_send(SendStream& stream, const std::vector<std::byte>& data);
Request* post_recv(RecvStream& stream, std::vector<std::byte>& data);
// Tests the request until it ends. Returns the size of the message, or the error; timed_out after `patience`.
Result<std::size_t> finish(Stream& stream, Request* request, Nanos patience = std::chrono::seconds(20));

// Returns bytes that depend on `seed` and on their position.
std::vector<std::byte> pattern(std::size_t bytes, unsigned seed);
// Sends one message of `bytes` and checks what arrives. Returns false after a test failure.
bool transfer(Ends& ends, std::size_t bytes, unsigned seed);

// Returns the resident memory of this process.
std::size_t resident_bytes();
// Returns the number of open descriptors of this process, without those of rails' accounts.
int open_descriptors();

// Records every log line until destruction. One at a time.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  std::vector<std::string> warnings() const;
  std::string all() const;

 private:
  LogSink before_;
};

}  // namespace railweave::engine_test
