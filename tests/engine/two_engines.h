// What the engine's tests share: engines on loopback, joined ends, checked messages, the log.
// A step that does not succeed within its patience fails the test with a message and answers empty.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "railweave/endpoint.h"

namespace railweave::engine_test {

Config loopback();  // under a sanitizer with a longer patience for connections that come by the hundred
// On rail "lo". Null after a test failure.
std::shared_ptr<Engine> start_engine(const Config& config = loopback());

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
// A deadline of the product's, on this build: sanitizers make everything slower, and the machine is shared.
constexpr Nanos deadline(Nanos promised) { return (kSanitized ? 4 : 3) * promised; }
// A time that says: nobody waited for what takes a little more. Nothing is added to it where the build is a fast one.
constexpr Nanos sooner_than_waiting(Nanos limit) { return (kSanitized ? 4 : 1) * limit; }

// Polls `done` until it is true, with short sleeps; false after `patience`.
bool eventually(const std::function<bool()>& done, Nanos patience = std::chrono::seconds(20));

// One direction: what `from` sends, `to` receives.
struct Ends {
  std::unique_ptr<SendStream> send;
  std::unique_ptr<RecvStream> recv;
  explicit operator bool() const { return send && recv; }
};
Ends join(Engine& from, Engine& to);
// Drives a connector and a listener to their ends.
Ends meet(Connector& connector, Listener& listener, Nanos patience = std::chrono::seconds(20));

// Posts, spinning while there is no room.
Request* post_send(SendStream& stream, const std::vector<std::byte>& data);
Request* post_recv(RecvStream& stream, std::vector<std::byte>& data);
// Tests until the request ended: its length, or the error it ended with.
Result<std::size_t> finish(Stream& stream, Request* request, Nanos patience = std::chrono::seconds(20));

// Bytes that depend on `seed` and their place.
std::vector<std::byte> pattern(std::size_t bytes, unsigned seed);
// Sends one message of `bytes` and checks what arrived. False after a test failure.
bool transfer(Ends& ends, std::size_t bytes, unsigned seed);

// Memory that this process has in use.
std::size_t resident_bytes();
// Descriptors that this process has open, but for those of rails' accounts.
int open_descriptors();

// Remembers every line while it lives. One at a time.
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
