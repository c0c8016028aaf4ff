#include "collectives/messages.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "collectives/group.h"

namespace railweave::collectives {

Messages::Messages(Links& links, int ranks, int first_channel, Done done)
    : links_(links), control_channel_(first_channel), body_channel_(first_channel + 1), done_(std::move(done)), peers_(std::size_t(ranks)) {}

void Messages::end(Ticket& ticket, Status status, int source, std::size_t bytes) {
  --unfinished_;
  done_(ticket, std::move(status), source, bytes);
}

void Messages::put(int to, const Envelope& envelope, const void* body, std::shared_ptr<Ticket> ends) {
  auto outbox = std::make_unique<Outbox>();
  outbox->data.resize(sizeof envelope + (envelope.has_body ? envelope.bytes : 0));
  std::memcpy(outbox->data.data(), &envelope, sizeof envelope);
  if (envelope.has_body && envelope.bytes > 0) std::memcpy(outbox->data.data() + sizeof envelope, body, envelope.bytes);
  outbox->ends = std::move(ends);
  peers_[std::size_t(to)].outboxes.push_back(std::move(outbox));
}

void Messages::add(std::shared_ptr<Ticket> ticket, const Message& message) {
  ++unfinished_;
  if (!message.sends) {
    for (int r = 0; r < int(peers_.size()); ++r)
      if (message.peer == kAnySource || message.peer == r) listen_to(r);
    wanted_.push_back({std::move(ticket), message, 0});
    return;
  }
  Peer& peer = peers_[std::size_t(message.peer)];
  listen_to(message.peer);  // for its clears
  Envelope offer{Envelope::offer, message.tag, peer.next_id++, message.bytes, message.bytes <= kInlineMax, std::uint32_t(message.priority)};
  if (offer.has_body) return put(message.peer, offer, message.source, std::move(ticket));
  put(message.peer, offer, nullptr, nullptr);
  peer.offered.emplace(offer.id, Parcel{std::move(ticket), message, offer.id});
}

Result<bool> Messages::advance() {
  bool moved = false;
  for (int r = 0; r < int(peers_.size()); ++r) {
    Peer& peer = peers_[std::size_t(r)];
    for (const auto step : {&Messages::write, &Messages::listen, &Messages::move_bodies}) {
      auto did = (this->*step)(r, peer);
      if (!did.ok()) return Links::lost(r, did.status());
      moved |= *did;
    }
    moved |= match(r, peer);
  }
  RW_TRY(look_for_missed());
  return moved;
}

// Its own error, not the group's, until something is wanted from a peer that is gone.
Status Messages::look_for_missed() const {
  const bool from_anyone = std::ranges::any_of(wanted_, [](const Parcel& p) { return p.message.peer == kAnySource; });
  bool somebody_left = false;
  int gone = -1;
  for (int r = 0; r < int(peers_.size()); ++r) {
    const Peer& peer = peers_[std::size_t(r)];
    if (peer.in == nullptr || peer.in->gone.ok()) {
      somebody_left |= r != links_.rank() || peer.next_id > 0;  // we ourselves, if we ever do
      continue;
    }
    gone = r;
    const bool died = peer.in->gone.scope() != Scope::stream;
    if (wants(r, peer) || (from_anyone && died)) return Links::lost(r, peer.in->gone);
  }
  if (from_anyone && gone >= 0 && !somebody_left) return Links::lost(gone, peers_[std::size_t(gone)].in->gone);
  return {};
}

bool Messages::wants(int rank, const Peer& peer) const {
  return !peer.offered.empty() || std::ranges::any_of(wanted_, [&](const Parcel& p) { return p.message.peer == rank; });
}

Result<bool> Messages::write(int rank, Peer& peer) {
  bool moved = false;
  if (peer.outboxes.empty()) return false;
  SendStream* stream = links_.to(rank, control_channel_, Class::normal).stream.get();
  if (stream == nullptr) return false;
  for (auto& outbox : peer.outboxes) {
    if (outbox->request != nullptr) continue;
    RW_ASSIGN_OR_RETURN(outbox->request, stream->post(outbox->data.data(), outbox->data.size()));
    if (outbox->request == nullptr) break;
    moved = true;
  }
  while (!peer.outboxes.empty() && peer.outboxes.front()->request != nullptr) {
    RW_ASSIGN_OR_RETURN(const Progress progress, stream->test(peer.outboxes.front()->request));
    if (!progress.done) break;
    if (peer.outboxes.front()->ends) end(*peer.outboxes.front()->ends, {});
    peer.outboxes.pop_front();
    moved = true;
  }
  return moved;
}

void Messages::listen_to(int rank) {
  Incoming*& in = peers_[std::size_t(rank)].in;
  if (in == nullptr) in = &links_.from(rank, control_channel_);
}

Result<bool> Messages::listen(int rank, Peer& peer) {
  if (peer.in == nullptr || !peer.in->gone.ok() || peer.offers.size() >= kUnclaimedMax) return false;
  RecvStream* stream = peer.in->stream.get();
  if (stream == nullptr) return false;
  bool moved = false;
  for (;;) {
    if (peer.inbox_request == nullptr) {
      peer.inbox.resize(sizeof(Envelope) + kInlineMax);
      auto posted = stream->post(peer.inbox.data(), peer.inbox.size());
      if (!posted.ok()) return peer.in->gone = posted.status(), moved;
      peer.inbox_request = *posted;
      if (peer.inbox_request == nullptr) return moved;
    }
    auto tested = stream->test(peer.inbox_request);
    if (!tested.ok()) return peer.in->gone = tested.status(), moved;
    const Progress progress = *tested;
    if (!progress.done) return moved;
    peer.inbox_request = nullptr;
    if (progress.bytes < sizeof(Envelope)) return Status(Code::remote, Scope::session, "an envelope that is cut short");
    RW_TRY(heard(rank, peer, std::span(peer.inbox).first(progress.bytes)));
    moved = true;
    if (peer.offers.size() >= kUnclaimedMax) return moved;
  }
}

Status Messages::heard(int rank, Peer& peer, std::span<const std::byte> data) {
  Envelope envelope;
  std::memcpy(&envelope, data.data(), sizeof envelope);
  if (envelope.kind == Envelope::offer) {
    if (envelope.has_body && envelope.bytes != data.size() - sizeof envelope)
      return Status(Code::remote, Scope::session, "an envelope whose body is not as long as it says");
    if (envelope.priority >= std::uint32_t(kClasses)) return Status(Code::remote, Scope::session, "an envelope of no class");
    peer.offers.push_back({envelope, {data.begin() + sizeof envelope, data.end()}});
    match(rank, peer);
    return {};
  }
  const auto sent = peer.offered.find(envelope.id);
  if (sent == peer.offered.end()) return Status(Code::remote, Scope::session, "a message is asked for that was not offered");
  Parcel parcel = std::move(sent->second);
  peer.offered.erase(sent);
  if (envelope.bytes == 0) {  // it has no room, and tells its caller
    end(*parcel.ticket, {});
    return {};
  }
  const auto priority = std::size_t(parcel.message.priority);
  peer.bodies_out[priority].push_back({std::move(parcel.ticket), parcel.message, parcel.message.bytes, nullptr});
  return {};
}

bool Messages::match(int rank, Peer& peer) {
  bool moved = false;
  for (auto offer = peer.offers.begin(); offer != peer.offers.end();) {
    const auto wanted = std::ranges::find_if(wanted_, [&](const Parcel& p) {
      return p.message.tag == offer->envelope.tag && (p.message.peer == rank || p.message.peer == kAnySource);
    });
    if (wanted == wanted_.end()) {
      ++offer;
      continue;
    }
    claim(rank, peer, *offer, *wanted);
    wanted_.erase(wanted);
    offer = peer.offers.erase(offer);
    moved = true;
  }
  return moved;
}

void Messages::claim(int rank, Peer& peer, Offer& offer, Parcel& wanted) {
  const Envelope& envelope = offer.envelope;
  const bool fits = envelope.bytes <= wanted.message.bytes;
  if (!envelope.has_body) put(rank, {Envelope::clear, envelope.tag, envelope.id, fits ? envelope.bytes : 0, 0, 0}, nullptr, nullptr);
  if (!fits)
    return end(*wanted.ticket, Status(Code::truncated, Scope::request,
                                      "a message of " + std::to_string(envelope.bytes) + " bytes from rank " + std::to_string(rank) +
                                          " where there is room for " + std::to_string(wanted.message.bytes)), rank, envelope.bytes);
  if (envelope.has_body) {
    if (envelope.bytes > 0) std::memcpy(wanted.message.target, offer.body.data(), envelope.bytes);
    return end(*wanted.ticket, {}, rank, envelope.bytes);
  }
  peer.bodies_in[envelope.priority].push_back({std::move(wanted.ticket), wanted.message, envelope.bytes, nullptr});
}

Result<bool> Messages::move_bodies(int rank, Peer& peer) {
  bool moved = false;
  for (int priority = 0; priority < kClasses; ++priority) {
    RW_ASSIGN_OR_RETURN(const bool did, move_bodies(rank, peer, priority));
    moved |= did;
  }
  return moved;
}

Result<bool> Messages::move_bodies(int rank, Peer& peer, int priority) {
  auto &out = peer.bodies_out[std::size_t(priority)], &in = peer.bodies_in[std::size_t(priority)];
  const int channel = body_channel_ + priority;
  bool moved = false;
  const auto move = [&](std::deque<Body>& bodies, auto& stream, auto post) -> Result<bool> {
    for (Body& body : bodies) {
      if (body.request != nullptr) continue;
      RW_ASSIGN_OR_RETURN(body.request, post(body));
      if (body.request == nullptr) break;
      moved = true;
    }
    while (!bodies.empty() && bodies.front().request != nullptr) {
      RW_ASSIGN_OR_RETURN(const Progress progress, stream.test(bodies.front().request));
      if (!progress.done) break;
      end(*bodies.front().ticket, {}, bodies.front().message.sends ? -1 : rank, progress.bytes);
      bodies.pop_front();
      moved = true;
    }
    return moved;
  };
  if (!out.empty()) {
    if (SendStream* stream = links_.to(rank, channel, Class(priority)).stream.get())
      RW_TRY(move(out, *stream, [&](Body& b) { return stream->post(b.message.source, b.bytes); }));
  }
  if (!in.empty()) {
    Incoming& from = links_.from(rank, channel);
    if (!from.stream && !from.gone.ok()) return from.gone;
    if (RecvStream* stream = from.stream.get())
      RW_TRY(move(in, *stream, [&](Body& b) { return stream->post(b.message.target, b.message.bytes); }));
  }
  return moved;
}

std::vector<std::shared_ptr<Ticket>> Messages::abandon() {
  std::vector<std::shared_ptr<Ticket>> left;
  for (Parcel& p : wanted_) left.push_back(std::move(p.ticket));
  for (Peer& peer : peers_) {
    for (auto& outbox : peer.outboxes)
      if (outbox->ends) left.push_back(std::move(outbox->ends));
    for (auto& [id, parcel] : peer.offered) left.push_back(std::move(parcel.ticket));
    for (auto* classes : {&peer.bodies_out, &peer.bodies_in})
      for (auto& bodies : *classes)
        for (Body& b : bodies) left.push_back(std::move(b.ticket));
  }
  unfinished_ = 0;
  return left;
}

}  // namespace railweave::collectives
