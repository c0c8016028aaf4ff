// One connection on its way to become a lane: with a key, both ends show that they have it (admission/challenge.h);
// then it sends one Hello and reads one, within a deadline. The acceptor does that twice: for the dialler's first
// Hello, and for its confirm. On the reactor's thread only. Exactly one callback; destroying a Handshake closes its
// connection without one.
//
// A deadline counts only time in which the reactor's thread could run: what it waited for a core comes on top.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "engine/admission/challenge.h"
#include "engine/connect/hello.h"
#include "engine/runtime/reactor.h"
#include "railweave/status.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {

// By what an end is known. Both outlive the handshake.
struct Credentials {
  const SharedKey* key = nullptr;   // null: none
  const Secret* session = nullptr;  // of the session that a dialler's lane joins
};

class Handshake final : public Pollable {
 public:
  // The peer's Hello and the connected socket, or why there is none.
  struct Outcome {
    Status status;
    Hello hello;
    OwnedFd fd;
    OwnedFd attached = OwnedFd();                  // that came with a local Hello
    bool no_common_key = false;                    // why there is none, and will not be
    std::optional<ConnectionKey> connection = {};  // there is one with a key
    Seal seal = {};                                // of the peer's Hello; checked but for the session's part
    std::string what = {};                         // the connection, as errors are to call it
  };
  using Done = std::function<void(Outcome)>;

  // Dials, says `hello`, waits for the answer. A welcome to a lane that joins shows the session's secret. Such a lane's
  // connection is dialled once more where it took as long as TCP waits before it sends its SYN again: it would take
  // that wait for a round trip, and a loss at its start would cost it seconds. Its deadline begins anew with every
  // connection that stands: where the round trip is that long, what is said takes as many more.
  static std::unique_ptr<Handshake> dial(Reactor& reactor, const wire::DialSpec& spec, const Hello& hello,
                                         const Credentials& own, TimePoint deadline, Done done);
  // Waits for the other's Hello on an accepted connection. The answer is the caller's to write (send_hello()). `what`:
  // the connection, as errors are to call it.
  static std::unique_ptr<Handshake> await(Reactor& reactor, OwnedFd fd, std::string what, const SharedKey* key,
                                          TimePoint deadline, Done done);

  // Waits for the dialler's confirm on a connection whose Hello was welcomed. The connection goes from `welcomed` into
  // the Handshake.
  static std::unique_ptr<Handshake> await_confirm(Reactor& reactor, Outcome& welcomed, TimePoint deadline, Done done);

  // dial() and await() on a local connection: `attached` goes with the hello, and what came with the other's is in the
  // outcome.
  static std::unique_ptr<Handshake> dial_local(Reactor& reactor, OwnedFd connected, OwnedFd attached,
                                               const Hello& hello, const Credentials& own, TimePoint deadline,
                                               Done done);
  static std::unique_ptr<Handshake> await_local(Reactor& reactor, OwnedFd fd, std::string what, const SharedKey* key,
                                                TimePoint deadline, Done done);

  ~Handshake();

 private:
  static constexpr Nanos kHeldUpLeast = std::chrono::milliseconds(20);  // shorter waits for a core are everyday
  static constexpr Nanos kSynAgain = std::chrono::milliseconds(900);  // a second, RFC 6298, less what timers are early

  Handshake(Reactor& reactor, std::string what, Role role, const Credentials& own, Done done);
  void start(TimePoint deadline, std::uint32_t events);
  void end_at(TimePoint deadline);
  Status begin();
  Status dial_again();
  void fail_soon(Status why);
  void on_ready(std::uint32_t events) override;
  Status advance(std::uint32_t& wanted, bool& complete);
  Status write_some(bool& all);
  Status read_some(bool& all);
  Status measure();
  Status of_connection(const Status& why) const;
  Status take_message(bool& complete);
  Status take_turn();
  Status take_hello();
  Status queue_hello();
  const ConnectionKey* connection() const { return connection_ ? &*connection_ : challenge_->connection(); }
  void on_deadline(std::optional<Nanos> held_up_before);
  std::string why_late() const;
  bool see_out();
  void finish(Status status);

  Reactor& reactor_;
  std::string what_;  // "dialling 10.0.0.2:4000 from eth0"
  Done done_;
  OwnedFd fd_;
  const Role role_;
  const Credentials own_;
  std::optional<Challenge> challenge_;
  std::optional<ConnectionKey> connection_;  // of a welcomed connection, with a key: its challenge is over
  wire::SocketAddress remote_;
  std::optional<wire::DialSpec> again_;  // to be dialled by once more, where that may be
  TimePoint dialled_at_{};
  Nanos patience_{0};  // a joining lane's
  bool connecting_ = false;
  bool confirms_ = false;  // the Hello that is awaited is a confirm
  bool local_ = false;
  OwnedFd attached_;                // local: to be sent with our Hello; then, what came with theirs
  std::optional<Hello> own_hello_;  // the dialler's, until it is its turn
  bool saying_hello_ = false;
  std::vector<std::byte> out_;  // unsent rest of what we say
  std::vector<std::byte> in_;
  std::size_t expected_bytes_ = kHelloFixedBytes;
  Status parting_;  // why the last thing said is a refusal
  std::size_t thrown_away_ = 0;
  bool no_common_key_ = false;
  Hello hello_;
  Seal seal_{};
  Reactor::TimerId timer_ = 0;
};

// Writes an acceptor's whole Hello to the connection that an Outcome brought; its buffer holds it without waiting. A
// welcome is padded to two segments. `session`: to be shown, where there is a key; null: none.
Status send_hello(const Handshake::Outcome& to, const Hello& hello, const Secret* session = nullptr);

// Writes a dialler's whole confirm, padded to two segments, to the connection whose welcome an Outcome brought. Frames
// may follow at once. `session`: to be shown by a lane that joins, where there is a key; null: none.
Status send_confirm(const Handshake::Outcome& welcome, const Secret* session = nullptr);

}  // namespace railweave::engine
