#include "engine/connect/dial.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/abstract_socket.h"
#include "base/address_text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "base/log.h"
#include "base/random.h"
#include "base/without_memory.h"
#include "discovery/route_lookup.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kHandshakeTime = 5s;  // for one attempt
constexpr Nanos kRoundPause = 250ms;
constexpr Nanos kYieldPause = 1s;  // for the peer's own dial to make the session
constexpr int kRoundsMax = 4;      // rounds of refusals; rounds of silence are bounded by the deadline only
constexpr std::size_t kAttemptsPerRound = 8;

std::uint64_t random_serial() {
  const auto bytes = random_id();
  std::uint64_t serial;
  std::memcpy(&serial, bytes.data(), sizeof serial);
  return serial;
}

// Returns the index of the peer's rail that has this address and port; -1: none.
int announcing_rail(const std::vector<PeerRail>& rails, const PeerAddress& target) {
  for (std::size_t i = 0; i < rails.size(); ++i)
    for (const PeerAddress& told : rails[i].addresses)
      if (told.address.family == target.address.family && told.address.bytes == target.address.bytes &&
          told.port == target.port)
        return int(i);
  return -1;
}

}  // namespace

std::uint64_t features(const Identity& self) { return self.config->encrypt ? kFeatureEncrypt : 0; }

const char* encryption_differs(bool we_encrypt) {
  return we_encrypt ? "the peer does not encrypt, we do (RAILWEAVE_ENCRYPT)"
                    : "the peer encrypts (RAILWEAVE_ENCRYPT), we do not";
}

std::string why_no_route(const Rail& rail, const Route& route) {
  const discovery::RouteQuery query{route.target.address, route.source, rail.by_routes ? 0 : rail.ifindex};
  return discovery::why_no_route(query, rail.name, discovery::find_route(query));
}

wire::DialSpec dial_spec(const Identity& self, const Rail& rail, const Route& route, int traffic_class) {
  return {.source = route.source,
          .interface = rail.name,
          .remote = wire::socket_address(route.target.address, route.target.port),
          .options = {self.config->congestion_control, traffic_class, self.config->peer_timeout},
          .pinned = !rail.by_routes};
}

Hello join_hello(const Identity& self, const InstanceId& peer, std::uint64_t session, int traffic_class,
                 protocol::LaneId lane, const RailPair& rails) {
  Hello hello;
  hello.kind = Hello::Kind::join;
  hello.features = features(self);
  hello.from = self.instance;
  hello.to = peer;
  hello.session = session;
  hello.lane = lane;
  hello.local_rail = std::uint8_t(rails.local);
  hello.remote_rail = std::uint8_t(rails.remote);
  hello.traffic_class = std::uint8_t(traffic_class);
  hello.peer = self.name;
  return hello;
}

Status check_welcome(const Hello& welcome) {
  if (welcome.remote_rail < welcome.rails.size()) return {};
  return Status(Code::remote, Scope::session,
                welcome.rails.empty() ? "a welcome without rails"
                                      : "a welcome by rail " + std::to_string(welcome.remote_rail) +
                                            ", expected below " + std::to_string(welcome.rails.size()));
}

Dial::Dial(Reactor& reactor, const Identity& self, HandleContent peer, int traffic_class, Callbacks callbacks)
    : reactor_(reactor),
      self_(self),
      peer_(std::move(peer)),
      traffic_class_(traffic_class),
      callbacks_(std::move(callbacks)),
      serial_(random_serial()),
      began_at_(now()),
      deadline_(began_at_),
      local_(self.config->shm.value_or(false)) {}

Dial::~Dial() {
  if (timer_) reactor_.cancel(timer_);
}

void Dial::add_waiter(std::shared_ptr<PendingStream> waiter) {
  deadline_ = std::max(deadline_.load(), waiter->deadline);
  waiters_.push_back(std::move(waiter));
}

std::vector<std::shared_ptr<PendingStream>> Dial::take_waiters() {
  std::erase_if(waiters_, [](const auto& waiter) { return waiter->given_up(); });
  return std::exchange(waiters_, {});
}

template <class Act>
void Dial::guarded(const Act& act) {
  try {
    act();
  } catch (const std::bad_alloc&) {
    attempts_.clear();
    finish(out_of_memory());
  }
}

Hello Dial::hello(const Attempt& attempt) const {
  Hello h;
  h.kind = Hello::Kind::first;
  h.features = features(self_);
  h.from = self_.instance;
  h.to = peer_.instance;
  h.session = serial_;
  h.local_rail = std::uint8_t(attempt.rail);
  h.traffic_class = std::uint8_t(traffic_class_);
  h.peer = self_.name;
  h.rails = *self_.announced;
  h.offers = attempt.begun.offers();
  return h;
}

void Dial::dial(int from, const Route& route) {
  const Rail& rail = (*self_.rails)[std::size_t(from)];
  Attempt* raw = attempts_.emplace_back(std::make_unique<Attempt>()).get();
  raw->rail = from;
  raw->target = route.target;
  raw->what = rail.name + " to " + wire::to_string(wire::socket_address(route.target.address, route.target.port));
  if (const Status begun = begin_lane(*raw, from); !begun.ok()) {
    last_failure_ = Status(begun.code(), Scope::session, raw->what + ": " + begun.message(), begun.system_errno());
    only_lasting_failures_ = false;
    attempts_.pop_back();
    return;
  }
  raw->handshake = Handshake::dial(
      reactor_, dial_spec(self_, rail, route, traffic_class_), hello(*raw), {self_.key},
      std::min(deadline_.load(), now() + kHandshakeTime),
      [this, raw](Handshake::Outcome outcome) { guarded([&] { on_first(*raw, std::move(outcome)); }); });
}

void Dial::start() {
  guarded([this] { next_round(); });
}

bool Dial::dial_local() {
  if (!local_) return false;
  local_ = false;  // unless the dial below begins
  Result<OwnedFd> fd = dial_abstract(local_name(peer_.instance));
  if (!fd.ok()) return false;  // the peer is on another host, as a rule
  if (Status s = check_same_user(fd->get()); !s.ok()) {
    RW_INFO(net, "no shared memory: {}", s.message());
    return false;
  }
  auto attempt = std::make_unique<Attempt>();
  attempt->what = "shm";
  attempt->by_rails = false;
  if (const Status begun = begin_lane(*attempt, Wires::kWithinHost); !begun.ok()) {
    RW_WARN(net, "no shared memory: {}", begun.message());
    return false;
  }
  local_ = true;
  Attempt* raw = attempts_.emplace_back(std::move(attempt)).get();
  raw->handshake = Handshake::dial_local(
      reactor_, std::move(*fd), std::move(raw->begun.descriptor), hello(*raw), {self_.key},
      std::min(deadline_.load(), now() + kHandshakeTime),
      [this, raw](Handshake::Outcome outcome) { guarded([&] { on_first(*raw, std::move(outcome)); }); });
  return true;
}

Status Dial::begin_lane(Attempt& attempt, int rail) {
  RW_ASSIGN_OR_RETURN(attempt.begun, self_.wires->dial(rail, peer_.instance));
  return {};
}

// Dials all addresses of the handle at once, from rails of their subnets where there are such rails. Link-local
// addresses are dialled when the others have failed. A host with a NIC that is no rail may take all IPv4 connections of
// the segment there (ARP), but no link-local ones.
void Dial::next_round() {
  ++rounds_;
  only_lasting_failures_ = true;
  if (dial_local()) return;
  const int rails = int(self_.rails->size()), addresses = int(peer_.addresses.size());
  std::vector<RailPair> near, far, link_local;
  for (int rail = 0; rail < rails; ++rail)
    for (int address = 0; address < addresses; ++address)
      if (const std::optional<Route> route = route_to(rail, address))
        (discovery::is_link_local(route->target.address) ? link_local
         : route->same_subnet                            ? near
                                                         : far)
            .push_back({rail, address});
  if (near.empty() && far.empty() && link_local.empty())
    return finish(Status(
        Code::remote, Scope::session,
        "no local rail has an address of the peer's family (" + to_string(peer_.addresses.front().address) + ")"));
  const bool is_only_way = near.empty() && far.empty();
  if (!near.empty() && rounds_ == 1) far.clear();
  if (is_only_way || rounds_ > 1) near.insert(near.end(), link_local.begin(), link_local.end());
  const auto is_of_no_use = [this](const RailPair& way) {
    return leads_nowhere(way.local, *route_to(way.local, way.remote));
  };
  std::erase_if(near, is_of_no_use);
  std::erase_if(far, is_of_no_use);
  const std::vector<RailPair> ways = ways_of_round(near, far, rails, addresses, rounds_, kAttemptsPerRound);
  for (const RailPair& way : ways) dial(way.local, *route_to(way.local, way.remote));
  if (attempts_.empty()) next_round_later();
}

std::optional<Route> Dial::route_to(int rail, int address) const {
  Route route;
  if (!best_route((*self_.rails)[std::size_t(rail)], PeerRail{"", 0, {peer_.addresses[std::size_t(address)]}, false},
                  route))
    return {};
  return route;
}

// True: the kernel has no route. The failure counts as a timeout, because a route may still come before the deadline.
bool Dial::leads_nowhere(int rail, const Route& route) {
  const std::string why = why_no_route((*self_.rails)[std::size_t(rail)], route);
  if (why.empty()) return false;
  last_failure_ = Status(Code::timed_out, Scope::session, why);
  only_lasting_failures_ = false;
  return true;
}

void Dial::on_first(Attempt& attempt, Handshake::Outcome outcome) {
  const int rail = attempt.rail;
  const std::string what = attempt.what;
  const PeerAddress target = attempt.target;
  const bool by_rails = attempt.by_rails;
  Wires::Begun begun = std::move(attempt.begun);
  std::erase_if(attempts_, [&](const auto& a) { return a.get() == &attempt; });
  const Hello& answer = outcome.hello;
  const bool welcome = outcome.status.ok() && answer.kind == Hello::Kind::welcome && answer.from == peer_.instance;
  const Status nonsense = welcome ? check_welcome(answer) : Status();
  if (welcome && nonsense.ok()) {
    NewLane lane{0, {rail, answer.remote_rail}, announcing_rail(answer.rails, target), by_rails, std::move(begun)};
    outcome.status = agree(lane, outcome);
    if (outcome.status.ok()) {
      attempts_.clear();
      lane.bootstrap.fd = std::move(outcome.fd);
      callbacks_.welcomed(answer, std::move(lane));
      return finish({});
    }
  }
  if (!nonsense.ok()) {
    last_failure_ =
        Status(nonsense.code(), nonsense.scope(), what + ": " + answer.peer + " sent " + nonsense.message());
  } else {
    remember_failure(outcome, what);
  }
  if (!attempts_.empty()) return;
  if (!by_rails && !yielding_) {
    RW_INFO(net, "no shared memory: {}", last_failure_.message());
    local_ = false;
    return next_round();
  }
  next_round_later();
}

// Fails if the acceptor has reset the connection meanwhile. Another attempt may succeed then.
Status Dial::agree(NewLane& lane, const Handshake::Outcome& welcome) const {
  RW_TRY(take_session_secret(lane, welcome));
  RW_TRY(begin_encryption(lane, self_, wire::TlsEnd::client, welcome));
  RW_TRY(Wires::agree(lane.begun, welcome.hello.offers));
  return lane.by_rails ? send_confirm(welcome) : Status();
}

// Begins another round, kRoundsMax in all after refusals. A refusal may change soon: the peer's own dial is under way,
// or its engine is starting. Keys and encryption settings never change.
void Dial::next_round_later() {
  const bool silent = last_failure_.code() == Code::timed_out;
  const bool certain = !nothing_in_common_.ok() && only_lasting_failures_ && !yielding_;
  const Nanos pause = yielding_ ? kYieldPause : kRoundPause;
  if (certain || (rounds_ >= kRoundsMax && !silent && !yielding_) || now() + pause >= deadline_.load())
    return finish(nothing_in_common_.ok() ? last_failure_ : nothing_in_common_);
  timer_ = reactor_.at(now() + pause, [this] {
    timer_ = 0;
    guarded([this] { next_round(); });
  });
}

// True: a refusal for this reason is the same in every round, because the settings of the two ends differ.
static bool is_lasting(Hello::Refusal refusal) {
  return refusal == Hello::Refusal::encryption || refusal == Hello::Refusal::wire;
}

void Dial::remember_failure(const Handshake::Outcome& outcome, const std::string& what) {
  const Hello& answer = outcome.hello;
  last_failure_ = outcome.status;
  if (outcome.status.ok()) {
    yielding_ = yielding_ || answer.refusal == Hello::Refusal::crossing || answer.refusal == Hello::Refusal::duplicate;
    const bool differs = answer.refusal == Hello::Refusal::encryption;
    const std::string why = differs ? encryption_differs(self_.config->encrypt) : answer.reason;
    last_failure_ = Status(Code::remote, Scope::session, what + ": refused by " + answer.peer + ": " + why);
    if (is_lasting(answer.refusal)) nothing_in_common_ = last_failure_;
  }
  if (outcome.no_common_key) nothing_in_common_ = outcome.status;
  if ((outcome.status.ok() && !is_lasting(answer.refusal)) || outcome.status.code() == Code::timed_out)
    only_lasting_failures_ = false;
}

void Dial::yield() {
  attempts_.clear();
  finish({});
}

void Dial::finish(Status status) {
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  callbacks_.over(std::move(status));
}

}  // namespace railweave::engine
