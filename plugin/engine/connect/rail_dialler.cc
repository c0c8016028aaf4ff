#include "engine/connect/rail_dialler.h"

#include <cassert>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "engine/connect/dial.h"

namespace railweave::engine {

class RailDialler::RailJoin final : public Join {
 public:
  RailJoin(const RailDialler& dialler, const JoinOrder& order, Wires::Begun begun, Answered answered)
      : dialler_(dialler), order_(order), begun_(std::move(begun)), answered_(std::move(answered)) {}

  void dial() {
    Hello hello = dialler_.hello(order_);
    hello.offers = begun_.offers();
    handshake_ = Handshake::dial(dialler_.reactor_,
                                 dial_spec(dialler_.self_, dialler_.own(order_), order_.route, dialler_.traffic_class_),
                                 hello, {dialler_.self_.key, dialler_.session_.secret()}, now() + order_.time,
                                 [this](Handshake::Outcome outcome) { on_outcome(std::move(outcome)); });
  }

  Status take(const RailPair& where, bool doubtful) override {
    assert(outcome_.fd && !order_.is_peer_probe);
    NewLane lane{.id = order_.lane, .rails = where, .begun = std::move(begun_), .doubtful = doubtful};
    RW_TRY(begin_encryption(lane, dialler_.self_, wire::TlsEnd::client, outcome_));
    RW_TRY(Wires::agree(lane.begun, outcome_.hello.offers));
    RW_TRY(send_confirm(outcome_, dialler_.session_.secret()));
    lane.bootstrap.fd = std::move(outcome_.fd);
    dialler_.joined_(dialler_.session_, std::move(lane));
    return {};
  }

 private:
  void on_outcome(Handshake::Outcome outcome) {
    outcome_ = std::move(outcome);
    const Answered answered = std::move(answered_);  // the callback may destroy this
    JoinAnswer answer;
    (void)dialler_.session_.guarded(
        [&] { answer = dialler_.answer_of(outcome_, order_, route_text(dialler_.own(order_), order_.route)); });
    answered(answer);  // also if the session failed just now: else the attempt would never end
  }

  const RailDialler& dialler_;
  const JoinOrder order_;
  Wires::Begun begun_;
  Answered answered_;
  Handshake::Outcome outcome_;
  std::unique_ptr<Handshake> handshake_;
};

RailDialler::RailDialler(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class,
                         Session& session, Joined joined)
    : reactor_(reactor),
      self_(self),
      peer_(peer),
      traffic_class_(traffic_class),
      session_(session),
      joined_(std::move(joined)) {}

std::string RailDialler::why_no_route(int rail, const Route& route) {
  return engine::why_no_route((*self_.rails)[std::size_t(rail)], route);
}

bool RailDialler::has_better_wire(int rail, const std::string& wire) {
  return self_.wires->has_better(rail, peer_, wire);
}

// Begins the wire's lane and the dial. A probe needs no lane of a wire.
Result<std::unique_ptr<Join>> RailDialler::join(const JoinOrder& order, Answered answered) {
  Wires::Begun begun;
  if (!order.is_peer_probe) {
    RW_ASSIGN_OR_RETURN(begun, self_.wires->dial(order.rails.local, peer_, order.better_than));
  }
  auto join = std::make_unique<RailJoin>(*this, order, std::move(begun), std::move(answered));
  join->dial();
  return std::unique_ptr<Join>(std::move(join));
}

Hello RailDialler::hello(const JoinOrder& order) const {
  Hello hello = join_hello(self_, peer_, session_.serial(), traffic_class_, order.lane, order.rails);
  // all of our addresses may have changed, and no lane is left to announce them
  if (order.is_peer_probe) hello.rails = *self_.announced;
  return hello;
}

JoinAnswer RailDialler::answer_of(const Handshake::Outcome& outcome, const JoinOrder& order,
                                  const std::string& what) const {
  using Kind = JoinAnswer::Kind;
  JoinAnswer answer;
  if (!outcome.status.ok()) {
    if (outcome.status.system_errno() == ECONNREFUSED) answer.kind = Kind::refused_connection;
    answer.why = outcome.status.message();
    return answer;
  }
  const Hello& hello = outcome.hello;
  if (hello.kind == Hello::Kind::welcome) {
    answer.why = what_is_wrong(hello, order, what);
    answer.kind = answer.why.empty() ? Kind::welcome : Kind::wrong_welcome;
    answer.remote_rail = hello.remote_rail;
    return answer;
  }
  answer.why = hello.reason;
  switch (hello.refusal) {
    case Hello::Refusal::duplicate: answer.kind = Kind::duplicate; break;
    case Hello::Refusal::unknown_session: answer.kind = Kind::unknown_session; break;
    case Hello::Refusal::stranger: answer.kind = Kind::stranger; break;
    case Hello::Refusal::none:
    case Hello::Refusal::crossing:
    case Hello::Refusal::encryption:
    case Hello::Refusal::wire: break;
  }
  return answer;
}

// Returns what is wrong with a welcome; empty: the welcome is the peer's, for this lane. Another instance may have the
// peer's address by now.
std::string RailDialler::what_is_wrong(const Hello& welcome, const JoinOrder& order, const std::string& what) const {
  if (welcome.from != peer_) return "a welcome from " + what + " by another instance, expected " + session_.peer();
  if (welcome.session == session_.serial() && welcome.lane == order.lane) return {};
  return "a welcome from " + what + " to lane " + std::to_string(welcome.lane) + " of session " +
         std::to_string(welcome.session) + ", expected lane " + std::to_string(order.lane) + " of " +
         std::to_string(session_.serial());
}

}  // namespace railweave::engine
