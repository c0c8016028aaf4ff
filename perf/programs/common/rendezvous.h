// The control connection between the two ranks of a perf program: addresses, handles and results go over it, never the
// load. Whole messages of at most 256 MiB.
//
// Threads: one. Errors: remote when the other rank has gone, timed_out when it says nothing; both are final.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf {

class Rendezvous {
 public:
  static constexpr Nanos kMeetingPatience = std::chrono::seconds(30);
  static constexpr Nanos kAnswerPatience = std::chrono::seconds(120);

  // Rank 0 waits for rank 1 at address:port (an address or a host name); rank 1 keeps trying. They are of one program.
  static Result<Rendezvous> meet(int rank, const std::string& address, std::uint16_t port,
                                 Nanos patience = kMeetingPatience);
  // Over a stream socket that is connected already.
  Rendezvous(int rank, OwnedFd connection) : rank_(rank), connection_(std::move(connection)) {}

  int rank() const { return rank_; }

  Status send(std::string_view message);
  Result<std::string> receive(Nanos patience = kAnswerPatience);
  // Does not wait: nothing when no whole message is there. An error tells that the other rank has gone.
  Result<std::optional<std::string>> try_receive();
  // Whether the other rank has gone, while nothing of it is waited for. Does not wait; what came stays to be received.
  Status poll() { return read_more(); }

  // Both ranks give one message and get the other's.
  Result<std::string> exchange(std::string_view mine);
  // Returns when both ranks are here.
  Status barrier();

 private:
  std::optional<std::string> take_message();
  Status read_more();

  int rank_;
  OwnedFd connection_;
  std::string inbox_;
};

}  // namespace railweave::perf
