// One connection on its way to become a lane. With a key, both ends first show that they have the key
// (admission/challenge.h). Then this end sends one Hello and reads one, within a deadline. The acceptor uses two
// Handshakes: for the dialler's first Hello, and for its confirm.
// Threads: the reactor's only. Exactly one callback comes; destroying a Handshake closes its connection without a
// callback.
//
// A deadline counts only time in which the reactor's thread could run. Time in which the thread waited for a core is
// added.
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

// The secrets by which this end is known. Both outlive the handshake.
struct Credentials {
  const SharedKey* key = nullptr;   // null: none
  const Secret* session = nullptr;  // of the session that a dialler's lane joins; null: none
};

class Handshake final : public Pollable {
 public:
  // The peer's Hello and the connected socket, or the error.
  struct Outcome {
    Status status;
    Hello hello;
    OwnedFd fd;
    OwnedFd attached = OwnedFd();                  // descriptor that came with a local Hello; none: no descriptor
    bool no_common_key = false;                    // the error is final: the ends have no key in common
    std::optional<ConnectionKey> connection = {};  // set where there is a key
    Seal seal = {};                                // of the peer's Hello; checked except the session's part
    std::string what = {};                         // names the connection in errors
  };
  using Done = std::function<void(Outcome)>;

  // Dials, sends `hello`, and waits for the answer. The welcome to a lane that joins must show the session's secret.
  // The connection of a lane that joins is dialled once more if connecting took as long as TCP waits before it
  // retransmits a SYN. TCP would take this wait for a round trip, and a loss at the start would cost seconds. The
  // deadline of a lane that joins begins anew with each connection that is established. If the round trip really is
  // that long, the messages take as long again.
  static std::unique_ptr<Handshake> dial(Reactor& reactor, const wire::DialSpec& spec, const Hello& hello,
                                         const Credentials& own, TimePoint deadline, Done done);
  // Waits for the dialler's Hello on an accepted connection. The caller writes the answer (send_hello()). `what`: names
  // the connection in errors.
  static std::unique_ptr<Handshake> await(Reactor& reactor, OwnedFd fd, std::string what, const SharedKey* key,
                                          TimePoint deadline, Done done);

  // Waits for the dialler's confirm on a connection whose Hello was welcomed. The connection moves from `welcomed` into
  // the Handshake.
  static std::unique_ptr<Handshake> await_confirm(Reactor& reactor, Outcome& welcomed, TimePoint deadline, Done done);

  // The same as dial() and await(), on a local connection. `attached` is sent with the Hello. A descriptor that came
  // with the peer's Hello is in the outcome.
  static std::unique_ptr<Handshake> dial_local(Reactor& reactor, OwnedFd connected, OwnedFd attached,
                                               const Hello& hello, const Credentials& own, TimePoint deadline,
                                               Done done);
  static std::unique_ptr<Handshake> await_local(Reactor& reactor, OwnedFd fd, std::string what, const SharedKey* key,
                                                TimePoint deadline, Done done);

  ~Handshake();

 private:
  static constexpr Nanos kHeldUpLeast = std::chrono::milliseconds(20);  // shorter waits for a core are normal
  // one second (RFC 6298), less the inaccuracy of timers
  static constexpr Nanos kSynAgain = std::chrono::milliseconds(900);

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
  std::optional<ConnectionKey> connection_;  // of a welcomed connection with a key, whose challenge is over
  wire::SocketAddress remote_;
  std::optional<wire::DialSpec> again_;  // set while the connection may be dialled once more
  TimePoint dialled_at_{};
  Nanos patience_{0};  // from an established connection on, for a lane that joins; 0: no new deadline
  bool connecting_ = false;
  bool confirms_ = false;  // the awaited Hello is a confirm
  bool local_ = false;
  OwnedFd attached_;                // local: to be sent with our Hello; later the peer's descriptor
  std::optional<Hello> own_hello_;  // the dialler's, until queued in out_
  bool saying_hello_ = false;
  std::vector<std::byte> out_;  // unsent rest of our messages
  std::vector<std::byte> in_;
  std::size_t expected_bytes_ = kHelloFixedBytes;
  Status parting_;               // not ok: our last message is a refusal, for this reason
  std::size_t thrown_away_ = 0;  // bytes, after a refusal
  bool no_common_key_ = false;
  Hello hello_;
  Seal seal_{};
  Reactor::TimerId timer_ = 0;
};

// Writes an acceptor's whole Hello to the connection of an Outcome. Never waits: the connection's buffer is empty. A
// welcome is padded to two segments. `session`: the secret to show, where there is a key; null: none.
Status send_hello(const Handshake::Outcome& to, const Hello& hello, const Secret* session = nullptr);

// Writes a dialler's whole confirm, padded to two segments, to the connection whose welcome an Outcome brought. Frames
// may follow at once. `session`: the secret to show for a lane that joins, where there is a key; null: none.
Status send_confirm(const Handshake::Outcome& welcome, const Secret* session = nullptr);

}  // namespace railweave::engine
