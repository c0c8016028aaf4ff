// The control connection between the two ranks of a perf program. Addresses, handles and results take this connection;
// the load never does. Messages are whole and have at most 256 MiB.
//
// Threads: one. Errors: remote when the other rank has gone, timed_out when it sends nothing in time. Both are final.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf {

class ControlConnection {
 public:
  static constexpr Nanos kMeetingPatience = std::chrono::seconds(30);
  static constexpr Nanos kAnswerPatience = std::chrono::seconds(120);

  // Rank 0 waits for rank 1 at address:port (an address or a host name). Rank 1 retries until `patience` is over. Both
  // ranks must run the same program; another one is an error.
  static Result<ControlConnection> meet(int rank, const std::string& address, std::uint16_t port,
                                        Nanos patience = kMeetingPatience);
  // Uses a stream socket that is connected already, and owns it.
  ControlConnection(int rank, OwnedFd connection) : rank_(rank), connection_(std::move(connection)) {}

  int rank() const { return rank_; }

  Status send(std::string_view message);
  Result<std::string> receive(Nanos patience = kAnswerPatience);
  // Never waits. Returns nothing while no whole message has arrived. Errors: remote when the other rank has gone.
  Result<std::optional<std::string>> try_receive();
  // Detects whether the other rank has gone while this rank expects no message. Never waits. A message that arrived
  // meanwhile can still be received.
  Status check_peer() { return read_more(); }

  // Sends `mine` and returns the other rank's message.
  Result<std::string> exchange(std::string_view mine);
  // Returns when both ranks have called barrier().
  Status barrier();

 private:
  std::optional<std::string> take_message();
  Status read_more();

  int rank_;
  OwnedFd connection_;
  std::string inbox_;
};

}  // namespace railweave::perf
