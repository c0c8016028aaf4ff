#include "engine/connect/acceptor.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "discovery/rail_hazards.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {
namespace {

constexpr Nanos kHelloTime = std::chrono::seconds(5);  // a connection that is silent for longer is rejected
constexpr std::size_t kIncomingMax = 1024;             // handshakes under way; beyond this number the oldest is closed
constexpr int kLoopbackIndex = 1;                      // of `lo`, in every network namespace (linux/include/net/flow.h)
// between two warnings of peers that have no key in common with us, or another encryption setting
constexpr Nanos kWarnAgain = std::chrono::minutes(1);

bool has_any_of(const Rail& rail, const std::vector<PeerAddress>& addresses) {
  return std::ranges::any_of(rail.addresses, [&](const Address& own) {
    return std::ranges::any_of(addresses, [&](const PeerAddress& a) { return discovery::same_host(a.address, own); });
  });
}

}  // namespace

Acceptor::Acceptor(Reactor& reactor, const Identity& self, const OwnRails& rails, const SessionDirectory& directory,
                   LoggedAbsences& logged_absences, AcceptorOwner& owner)
    : reactor_(reactor),
      self_(self),
      rails_(rails),
      directory_(directory),
      logged_absences_(logged_absences),
      owner_(owner),
      unconfirmed_(reactor, [this](UnconfirmedLanes::Entry entry) { on_confirmed(std::move(entry)); }) {}

void Acceptor::stop() {
  stopped_ = true;
  incoming_.clear();
  unconfirmed_.clear();
}

// Finds the rail on which a connection arrived. With default ARP settings a host takes packets for an address of one
// interface on any other of the same segment.
Acceptor::Arrival Acceptor::arrival_of(const wire::Accepted& accepted, int dialled_rail) const {
  const Address::Family family = accepted.remote.family() == AF_INET6 ? Address::Family::v6 : Address::Family::v4;
  // a rail by routes uses any interface, and binds to none
  if (rails_.at(dialled_rail).by_routes) return {dialled_rail, dialled_rail, "", family};
  const auto rail = std::ranges::find(rails_.now(), accepted.interface, &Rail::ifindex);
  // the kernel names the VRF, not the NIC, for IPv4
  const bool by_vrf = accepted.interface != 0 && accepted.interface == rails_.at(dialled_rail).vrf_ifindex;
  // a connection from this host would lead nowhere if pinned
  if (accepted.interface == kLoopbackIndex) return {dialled_rail, dialled_rail, "", family};
  const bool known = accepted.interface != 0 && !by_vrf;
  if (!known) return {dialled_rail, dialled_rail, rails_.at(dialled_rail).name, family};
  if (rail != rails_.now().end()) return {int(rail - rails_.now().begin()), dialled_rail, rail->name, family};
  return {-1, dialled_rail, wire::interface_name(accepted.interface), family};
}

void Acceptor::on_connection(wire::Accepted accepted, int dialled_rail) {
  const Arrival arrival = arrival_of(accepted, dialled_rail);
  // Unbound, the kernel's routes might send all answers by another interface.
  if (const Status bound = wire::bind_to_interface(accepted.fd.get(), arrival.interface, accepted.remote);
      !bound.ok()) {
    RW_INFO(net, "closed the connection from {}: {}", wire::to_string(accepted.remote), bound.message());
    return;
  }
  (void)wire::set_options(accepted.fd.get(), {self_.config->congestion_control, -1, self_.config->peer_timeout});
  // The address is noted now, because a socket does not know its peer any more once the peer has reset it.
  await_hello(std::move(accepted.fd), "connection from " + wire::to_string(accepted.remote), &Handshake::await,
              [this, arrival](Handshake::Outcome outcome) { on_hello(arrival, std::move(outcome)); });
}

void Acceptor::on_local_connection(OwnedFd fd) {
  await_hello(std::move(fd), "local connection", &Handshake::await_local,
              [this](Handshake::Outcome outcome) { on_local_hello(std::move(outcome)); });
}

void Acceptor::await_hello(OwnedFd fd, std::string what, decltype(&Handshake::await) await, Handshake::Done then) {
  if (stopped_) return;  // closes the connection
  // A peer speaks at once. The oldest connection that is still silent is most likely no peer.
  if (incoming_.size() >= kIncomingMax) incoming_.erase(incoming_.begin());
  const std::uint64_t number = next_incoming_++;
  incoming_.emplace(number, await(reactor_, std::move(fd), std::move(what), self_.key, now() + kHelloTime,
                                  [this, number, then = std::move(then)](Handshake::Outcome outcome) {
                                    const auto node = incoming_.extract(number);  // lives until this call returns
                                    then(std::move(outcome));
                                  }));
}

// Warns of peers with wrong settings, which are peers of the job, at most once in kWarnAgain. All other rejections are
// logged at INFO, because strangers must not fill the log.
void Acceptor::note_rejected(const std::string& why, bool set_up_wrongly) {
  const bool lately = warned_rejected_ != TimePoint{} && now() - warned_rejected_ < kWarnAgain;
  if (!set_up_wrongly || lately) {
    RW_INFO(net, "rejected {}", why);
    return;
  }
  warned_rejected_ = now();
  RW_WARN(net, "rejected {}", why);
}

bool Acceptor::refused_for_encryption(const Handshake::Outcome& caller) {
  const bool peer_encrypts = (caller.hello.features & kFeatureEncrypt) != 0;
  if (peer_encrypts == self_.config->encrypt) return false;
  refuse(caller, Hello::Refusal::encryption, encryption_differs(peer_encrypts));
  note_rejected(caller.hello.peer + ": " + encryption_differs(self_.config->encrypt), true);
  return true;
}

void Acceptor::on_local_hello(Handshake::Outcome outcome) {
  if (!outcome.status.ok()) return note_rejected(outcome.status.message(), outcome.no_common_key);
  if (outcome.hello.to != self_.instance || outcome.hello.kind != Hello::Kind::first)
    return refuse(outcome, Hello::Refusal::stranger,
                  "expected the first message of a local handshake with this instance");
  if (refused_for_encryption(outcome)) return;
  Result<Wires::Begun> begun =
      self_.wires->accept(Wires::kWithinHost, outcome.hello.from, outcome.hello.offers, std::move(outcome.attached));
  if (!begun.ok()) return refuse(outcome, Hello::Refusal::stranger, begun.status().message());
  accept_local_first(std::move(outcome), std::move(*begun));
}

void Acceptor::on_hello(const Arrival& arrival, Handshake::Outcome outcome) {
  if (!outcome.status.ok()) return note_rejected(outcome.status.message(), outcome.no_common_key);
  const Hello& hello = outcome.hello;
  (void)wire::set_options(outcome.fd.get(),
                          {.congestion_control = {}, .traffic_class = hello.traffic_class, .peer_timeout = Nanos{0}});
  if (hello.to != self_.instance)
    return refuse(outcome, Hello::Refusal::stranger, "this is another instance than the one expected");
  if (refused_for_encryption(outcome)) return;
  if (arrival.rail < 0)
    return refuse(outcome, Hello::Refusal::none,
                  "the connection to rail " + rails_.at(arrival.dialled).name + " arrived on " + arrival.interface +
                      ", which is no rail here; set `" + discovery::kMendArp + "` on this host, or use IPv6");
  switch (hello.kind) {
    case Hello::Kind::first: return accept_first(std::move(outcome), arrival);
    case Hello::Kind::join: return accept_join(std::move(outcome), arrival);
    default:
      return refuse(outcome, Hello::Refusal::stranger,
                    "a message of kind " + std::to_string(int(hello.kind)) + ", expected first (1) or join (2)");
  }
}

Hello Acceptor::answer(const Hello& hello, Hello::Kind kind, int rail) const {
  Hello a;
  a.kind = kind;
  a.features = features(self_);
  a.from = self_.instance;
  a.to = hello.from;
  a.session = hello.session;
  a.lane = hello.lane;
  a.local_rail = hello.local_rail;
  a.remote_rail = std::uint8_t(rail);
  a.traffic_class = hello.traffic_class;
  a.peer = self_.name;
  return a;
}

void Acceptor::refuse(const Handshake::Outcome& caller, Hello::Refusal refusal, std::string reason) {
  Hello a = answer(caller.hello, Hello::Kind::refused, 0);
  a.refusal = refusal;
  if (refusal == Hello::Refusal::stranger) a.from = {};  // a stranger must not learn our instance
  a.reason = std::move(reason);
  (void)send_hello(caller, a);
}

// True: no session will come of the dial, and the dialler was sent the reason.
bool Acceptor::refuses_first(const Handshake::Outcome& caller) {
  const Hello& hello = caller.hello;
  const PeerKey key = key_of_dialler(self_, hello);
  if (directory_.find(key)) return refuse(caller, Hello::Refusal::duplicate, "there is a session already"), true;
  const bool crossing = directory_.our_dial_stays(key);
  if (crossing)
    refuse(caller, Hello::Refusal::crossing,
           "both ends dial each other, and the dial of the instance with the greater id stays");
  return crossing;
}

void Acceptor::accept_local_first(Handshake::Outcome caller, Wires::Begun begun) {
  if (refuses_first(caller)) return;
  const Hello hello = caller.hello;
  Hello answered = answer(hello, Hello::Kind::welcome, 0);
  answered.rails = rails_.with_ports();
  answered.offers = begun.offers();
  NewLane lane{.id = hello.lane, .rails = {}, .by_rails = false, .begun = std::move(begun)};
  Status s = take_session_secret(lane, caller);
  if (s.ok()) s = send_hello(caller, answered);
  if (!s.ok()) {
    RW_INFO(net, "cannot welcome {}: {}", hello.peer, s.message());
    return;
  }
  lane.bootstrap.fd = std::move(caller.fd);
  owner_.accept_session(hello, std::move(lane));
}

void Acceptor::accept_first(Handshake::Outcome caller, const Arrival& arrival) {
  if (refuses_first(caller)) return;
  const Hello& hello = caller.hello;
  if (hello.local_rail >= hello.rails.size())
    return refuse(caller, Hello::Refusal::none,
                  "the dialler's rail " + std::to_string(hello.local_rail) + " is not among the " +
                      std::to_string(hello.rails.size()) + " that it announces");
  NewLane lane{.id = hello.lane, .rails = {arrival.rail, hello.local_rail}};
  if (const Status s = take_session_secret(lane, caller); !s.ok()) {
    RW_INFO(net, "cannot welcome {}: {}", hello.peer, s.message());
    return;
  }
  welcome(std::move(caller), arrival, std::move(lane), nullptr);
}

Status Acceptor::begin_lane(NewLane& lane, const Hello& hello, Hello& welcome) {
  RW_ASSIGN_OR_RETURN(lane.begun, self_.wires->accept(lane.rails.local, hello.from, hello.offers));
  welcome.offers = lane.begun.offers();
  return {};
}

// Sends the welcome. The lane is established once the dialler has confirmed it.
void Acceptor::welcome(Handshake::Outcome caller, const Arrival& arrival, NewLane lane, const Secret* secret) {
  const Hello hello = caller.hello;
  Hello answered = answer(hello, Hello::Kind::welcome, arrival.rail);
  if (hello.kind == Hello::Kind::first) answered.rails = rails_.with_ports();
  if (const Status begun = begin_lane(lane, hello, answered); !begun.ok()) {
    const bool no_wire = begun.code() == Code::invalid_config;
    // a join may ask for a better wire alone (reconcile/wire_upgrade.h)
    if (no_wire && hello.kind == Hello::Kind::first) note_rejected(hello.peer + ": " + begun.message(), true);
    return refuse(caller, no_wire ? Hello::Refusal::wire : Hello::Refusal::none, begun.message());
  }
  Status s = begin_encryption(lane, self_, wire::TlsEnd::server, caller);
  if (s.ok()) s = send_hello(caller, answered, secret);
  if (!s.ok()) {
    RW_INFO(net, "cannot welcome {}: {}", hello.peer, s.message());
    return;
  }
  unconfirmed_.add(std::move(caller), {hello, std::move(lane), arrival.dialled});
}

// Warns, once for each rail, of connections that arrive at another rail than the one dialled. A dialler whose
// connection goes astray tries IPv6 before it joins such a lane. IPv6 therefore is missing or does not work here.
void Acceptor::log_astray(const UnconfirmedLanes::Entry& entry) {
  if (entry.dialled_rail == entry.lane.rails.local) return;
  const PeerRail& dialled = rails_.with_ports()[std::size_t(entry.dialled_rail)];
  // the address has moved to the other rail
  if (has_any_of(rails_.at(entry.lane.rails.local), dialled.addresses)) return;
  const bool has_ipv6 = std::ranges::any_of(
      dialled.addresses, [](const PeerAddress& a) { return a.address.family == Address::Family::v6; });
  if ((entry.hello.kind == Hello::Kind::first && has_ipv6) || !logged_absences_.may_log_ours(entry.dialled_rail))
    return;
  RW_WARN(net,
          "rail {}: connections to its address arrive at rail {}, from {}: this host answers ARP for {} there, so one "
          "NIC carries what is for both; set `{}`, or use IPv6",
          dialled.name, rails_.at(entry.lane.rails.local).name, entry.hello.peer, dialled.name, discovery::kMendArp);
}

void Acceptor::on_confirmed(UnconfirmedLanes::Entry entry) {
  if (stopped_) return;
  const Hello& hello = entry.hello;
  // the dialler gave up: its lane would only have to be fenced
  if (wire::is_closed_by_peer(entry.lane.bootstrap.fd.get())) return;
  const auto session = directory_.find(key_of_dialler(self_, hello));
  log_astray(entry);
  if (session && session->serial() == hello.session) {
    if (!session->had_lane(hello.lane)) owner_.add_lane(*session, std::move(entry.lane));
    return;
  }
  // Both ends dialled, and both were welcomed. The greater instance's dial stays, if nothing was heard in the other's
  // session yet.
  const bool gives_way =
      session && !session->was_heard() && owner_.was_dialled(*session) && self_.instance < hello.from;
  if (session && !gives_way) {
    RW_INFO(net, "lane {} of {} came too late: another session exists", hello.lane, hello.peer);
    return;
  }
  if (hello.kind == Hello::Kind::first) return owner_.accept_session(hello, std::move(entry.lane));
  // The connection that was to begin the session is slower than this one, or lost.
  const UnconfirmedLanes::Entry* const first = unconfirmed_.first_of(hello);
  if (!first) return;
  entry.lane.session_secret = first->lane.session_secret;
  owner_.accept_session(first->hello, std::move(entry.lane));
}

void Acceptor::accept_join(Handshake::Outcome caller, const Arrival& arrival) {
  const Hello& hello = caller.hello;
  std::shared_ptr<Session> session = directory_.find(key_of_dialler(self_, hello));
  if (session && session->serial() != hello.session) session.reset();
  // The confirm of the connection that begins the session may come later than a join by another rail.
  const UnconfirmedLanes::Entry* const first = session ? nullptr : unconfirmed_.first_of(hello);
  if (!session && !first) return refuse(caller, Hello::Refusal::unknown_session, "no such session");
  const Secret* const secret = session                      ? session->secret()
                               : first->lane.session_secret ? &*first->lane.session_secret
                                                            : nullptr;
  if (caller.connection && !caller.connection->check_session(Role::dialler, caller.seal, *secret).ok())
    return refuse(caller, Hello::Refusal::stranger, "the dialler does not know the session's secret");
  // this process was stopped, and the dialler gave up: its statement about its rails is old
  if (wire::is_closed_by_peer(caller.fd.get())) return;
  if (session && session->had_lane(hello.lane)) {
    refuse(caller, Hello::Refusal::duplicate, "that lane exists already");
    owner_.on_probe(*session, {arrival.rail, hello.local_rail}, arrival.family, hello.rails);
    return;
  }
  welcome(std::move(caller), arrival, {.id = hello.lane, .rails = {arrival.rail, std::min<int>(hello.local_rail, 63)}},
          secret);
}

}  // namespace railweave::engine
