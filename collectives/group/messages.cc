#include "collectives/group/messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "collectives/group/group.h"

namespace railweave::collectives {

Messages::Messages(PeerStreams& streams, int ranks, int first_channel, Done done)
    : streams_(streams), first_channel_(first_channel), done_(std::move(done)), peers_(std::size_t(ranks)) {}

void Messages::end(OperationWork& work, Status status, int source, std::size_t bytes) {
  --unfinished_;
  done_(work, std::move(status), source, bytes);
}

void Messages::put(int to, const Envelope& envelope, const void* body, std::shared_ptr<OperationWork> ends) {
  auto queued = std::make_unique<QueuedEnvelope>();
  queued->data.resize(sizeof envelope + (envelope.has_body ? envelope.bytes : 0));
  std::memcpy(queued->data.data(), &envelope, sizeof envelope);
  if (envelope.has_body && envelope.bytes > 0) std::memcpy(queued->data.data() + sizeof envelope, body, envelope.bytes);
  queued->ends = std::move(ends);
  peers_[std::size_t(to)].envelopes[envelope.kind == Envelope::offer ? kOffers : kClears].push_back(std::move(queued));
  ++envelopes_;
}

void Messages::add(std::shared_ptr<OperationWork> work, const Message& message) {
  ++unfinished_;
  if (!message.sends) {
    for (int r = 0; r < int(peers_.size()); ++r)
      if (message.peer == kAnySource || message.peer == r) listen_to(r, kOffers);
    PendingMessage wanted{std::move(work), message, 0};
    if (!claim_old_offer(wanted)) wanted_.push_back(std::move(wanted));
    return;
  }
  Peer& peer = peers_[std::size_t(message.peer)];
  Envelope offer{Envelope::offer,
                 message.tag,
                 peer.next_id++,
                 message.bytes,
                 message.bytes <= kInlineMax,
                 std::uint32_t(message.priority)};
  if (offer.has_body) return put(message.peer, offer, message.source, std::move(work));
  listen_to(message.peer, kClears);
  put(message.peer, offer, nullptr, nullptr);
  peer.offered.emplace(offer.id, PendingMessage{std::move(work), message, offer.id});
}

Result<bool> Messages::advance() {
  bool moved = false;
  for (int r = 0; r < int(peers_.size()); ++r) {
    Peer& peer = peers_[std::size_t(r)];
    using Act = Result<bool> (Messages::*)(int, Peer&);
    for (const Act act : {Act(&Messages::write), Act(&Messages::listen), Act(&Messages::move_bodies)}) {
      auto did = (this->*act)(r, peer);
      if (!did.ok()) return PeerStreams::lost(r, did.status());
      moved |= *did;
    }
    RW_TRY(check_overfull(r, peer));
  }
  RW_TRY(check_gone_peers());
  return moved;
}

const Status* Messages::Peer::gone() const {
  for (const InboundChannel& channel : inbound)
    if (channel.in != nullptr && !channel.in->gone.ok()) return &channel.in->gone;
  return nullptr;
}

// Returns an error only if a receive or a send needs a peer that is gone.
Status Messages::check_gone_peers() const {
  const bool from_anyone =
      std::ranges::any_of(wanted_, [](const PendingMessage& p) { return p.message.peer == kAnySource; });
  bool somebody_left = false;
  int gone = -1;
  for (int r = 0; r < int(peers_.size()); ++r) {
    const Peer& peer = peers_[std::size_t(r)];
    const Status* why = peer.gone();
    if (why == nullptr) {
      somebody_left |= r != streams_.rank() || peer.next_id > 0;  // this rank only if it has sent to itself before
      continue;
    }
    gone = r;
    const bool died = why->code() != Code::left;
    if (wants(r, peer) || (from_anyone && died)) return PeerStreams::lost(r, *why);
  }
  if (from_anyone && gone >= 0 && !somebody_left) return PeerStreams::lost(gone, *peers_[std::size_t(gone)].gone());
  return {};
}

bool Messages::wants(int rank, const Peer& peer) const {
  return !peer.offered.empty() ||
         std::ranges::any_of(wanted_, [&](const PendingMessage& p) { return p.message.peer == rank; });
}

// Fails after kFullMost only: receives that follow may match the offers that are kept, and so make room.
Status Messages::check_overfull(int rank, Peer& peer) {
  const auto waits = [&](const PendingMessage& p) { return p.message.peer == rank; };
  const auto wanted = peer.full() ? std::ranges::find_if(wanted_, waits) : wanted_.end();
  if (wanted == wanted_.end()) {
    peer.full_since = TimePoint{};
    return {};
  }
  const TimePoint t = now();
  if (peer.full_since == TimePoint{}) peer.full_since = t;
  if (t - peer.full_since < kFullMost) return {};
  return Status(Code::exhausted, Scope::session,
                fmt::format("rank {} sent {} messages that nobody receives ({} KiB; at most {} KiB and {} messages are "
                            "kept), none of them with tag {}, for which a receive waits",
                            rank, peer.offers.size(), peer.unclaimed_bytes / KiB, kUnclaimedBytesMax / KiB,
                            kUnclaimedMax, wanted->message.tag));
}

// --- envelopes

Result<bool> Messages::write(int rank, Peer& peer) {
  RW_ASSIGN_OR_RETURN(const bool offers, write(rank, peer, kOffers));
  RW_ASSIGN_OR_RETURN(const bool clears, write(rank, peer, kClears));
  return offers || clears;
}

Result<bool> Messages::write(int rank, Peer& peer, Channel channel) {
  auto& envelopes = peer.envelopes[channel];
  if (envelopes.empty()) return false;
  SendStream* stream = streams_.to(rank, first_channel_ + channel, Priority::normal).stream.get();
  if (stream == nullptr) return false;
  stream->expedite(0);
  bool moved = false;
  for (auto& envelope : envelopes) {
    if (envelope->request != nullptr) continue;
    RW_ASSIGN_OR_RETURN(envelope->request, stream->post(envelope->data.data(), envelope->data.size()));
    if (envelope->request == nullptr) break;
    moved = true;
  }
  while (!envelopes.empty() && envelopes.front()->request != nullptr) {
    RW_ASSIGN_OR_RETURN(const Progress progress, stream->test(envelopes.front()->request));
    if (!progress.done) break;
    if (envelopes.front()->ends) end(*envelopes.front()->ends, {});
    envelopes.pop_front();
    --envelopes_;
    moved = true;
  }
  return moved;
}

void Messages::listen_to(int rank, Channel channel) {
  Incoming*& in = peers_[std::size_t(rank)].inbound[channel].in;
  if (in == nullptr) in = &streams_.from(rank, first_channel_ + channel);
}

Result<bool> Messages::listen(int rank, Peer& peer) {
  RW_ASSIGN_OR_RETURN(const bool offers, listen(rank, peer, kOffers));
  RW_ASSIGN_OR_RETURN(const bool clears, listen(rank, peer, kClears));
  return offers || clears;
}

Result<bool> Messages::listen(int rank, Peer& peer, Channel channel) {
  InboundChannel& inbound = peer.inbound[channel];
  if (inbound.in == nullptr || !inbound.in->gone.ok() || !inbound.in->stream) return false;
  RecvStream& stream = *inbound.in->stream;
  bool moved = false;
  while (channel != kOffers || !peer.full()) {
    if (inbound.request == nullptr) {
      inbound.inbox.resize(sizeof(Envelope) + (channel == kOffers ? kInlineMax : 0));
      auto posted = stream.post(inbound.inbox.data(), inbound.inbox.size());
      if (!posted.ok()) return inbound.in->gone = posted.status(), moved;
      inbound.request = *posted;
      if (inbound.request == nullptr) return moved;
    }
    auto tested = stream.test(inbound.request);
    if (!tested.ok()) return inbound.in->gone = tested.status(), moved;
    const Progress progress = *tested;
    if (!progress.done) return moved;
    inbound.request = nullptr;
    RW_TRY(on_envelope(rank, peer, channel, std::span(inbound.inbox).first(progress.bytes)));
    moved = true;
  }
  return moved;
}

Status Messages::on_envelope(int rank, Peer& peer, Channel channel, std::span<const std::byte> data) {
  const auto malformed = [](const char* what, std::uint64_t found, const std::string& expected) {
    return Status(Code::remote, Scope::session,
                  fmt::format("malformed envelope: {} {}, expected {}", what, found, expected));
  };
  Envelope envelope;
  if (data.size() < sizeof envelope) return malformed("bytes", data.size(), fmt::format("{} or more", sizeof envelope));
  std::memcpy(&envelope, data.data(), sizeof envelope);
  const std::uint32_t kind = channel == kOffers ? Envelope::offer : Envelope::clear;
  if (envelope.kind != kind) return malformed("kind", envelope.kind, std::to_string(kind));
  const std::span<const std::byte> body = data.subspan(sizeof envelope);
  if (envelope.has_body && envelope.bytes != body.size())
    return malformed("length of its body", body.size(), std::to_string(envelope.bytes));
  if (channel == kClears) return on_clear(peer, envelope);
  if (envelope.priority >= std::uint32_t(kPriorities))
    return malformed("priority", envelope.priority, fmt::format("less than {}", kPriorities));
  on_offer(rank, peer, {envelope, {body.begin(), body.end()}});
  return {};
}

Status Messages::on_clear(Peer& peer, const Envelope& envelope) {
  const auto sent = peer.offered.find(envelope.id);
  if (sent == peer.offered.end())
    return Status(Code::remote, Scope::session,
                  fmt::format("malformed envelope: clear of offer {}, expected one of the {} offers without a clear",
                              envelope.id, peer.offered.size()));
  PendingMessage send = std::move(sent->second);
  peer.offered.erase(sent);
  if (envelope.bytes == 0) {  // too long for the receive, which fails there; the send is over
    end(*send.work, {});
    return {};
  }
  const auto priority = std::size_t(send.message.priority);
  std::deque<Body>& bodies = peer.bodies_out[priority];
  // orders must grow along a stream (SendStream::expedite())
  if (!bodies.empty()) send.message.order = std::max(send.message.order, bodies.back().message.order);
  bodies.push_back({std::move(send.work), send.message, send.message.bytes, nullptr});
  return {};
}

// --- matching
// A kept offer matches no waiting receive, and a waiting receive matches no kept offer.

void Messages::on_offer(int rank, Peer& peer, Offer offer) {
  const auto wanted = std::ranges::find_if(wanted_, [&](const PendingMessage& p) {
    return p.message.tag == offer.envelope.tag && (p.message.peer == rank || p.message.peer == kAnySource);
  });
  if (wanted != wanted_.end()) {
    PendingMessage receive = std::move(*wanted);
    wanted_.erase(wanted);
    return claim(rank, peer, offer, receive);
  }
  peer.unclaimed_bytes += offer.held_bytes();
  peer.offers.push_back(std::move(offer));
}

bool Messages::claim_old_offer(PendingMessage& wanted) {
  for (int r = 0; r < int(peers_.size()); ++r) {
    if (wanted.message.peer != kAnySource && wanted.message.peer != r) continue;
    Peer& peer = peers_[std::size_t(r)];
    const auto found =
        std::ranges::find(peer.offers, wanted.message.tag, [](const Offer& o) { return o.envelope.tag; });
    if (found == peer.offers.end()) continue;
    const Offer offer = std::move(*found);
    peer.unclaimed_bytes -= offer.held_bytes();
    peer.offers.erase(found);
    claim(r, peer, offer, wanted);
    return true;
  }
  return false;
}

void Messages::claim(int rank, Peer& peer, const Offer& offer, PendingMessage& wanted) {
  const Envelope& envelope = offer.envelope;
  const bool fits = envelope.bytes <= wanted.message.bytes;
  if (!envelope.has_body)
    put(rank, {Envelope::clear, envelope.tag, envelope.id, fits ? envelope.bytes : 0, 0, 0}, nullptr, nullptr);
  if (!fits)
    return end(*wanted.work,
               Status(Code::truncated, Scope::request,
                      "a message of " + std::to_string(envelope.bytes) + " bytes from rank " + std::to_string(rank) +
                          " where there is room for " + std::to_string(wanted.message.bytes)),
               rank, envelope.bytes);
  if (envelope.has_body) {
    if (envelope.bytes > 0) std::memcpy(wanted.message.target, offer.body.data(), envelope.bytes);
    return end(*wanted.work, {}, rank, envelope.bytes);
  }
  peer.bodies_in[envelope.priority].push_back({std::move(wanted.work), wanted.message, envelope.bytes, nullptr});
}

// --- bodies

Result<bool> Messages::move_bodies(int rank, Peer& peer) {
  bool moved = false;
  for (int priority = 0; priority < kPriorities; ++priority) {
    RW_ASSIGN_OR_RETURN(const bool did, move_bodies(rank, peer, priority));
    moved |= did;
  }
  return moved;
}

Result<bool> Messages::move_bodies(int rank, Peer& peer, int priority) {
  auto &out = peer.bodies_out[std::size_t(priority)], &in = peer.bodies_in[std::size_t(priority)];
  const int channel = first_channel_ + kBodies + priority;
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
      end(*bodies.front().work, {}, bodies.front().message.sends ? -1 : rank, progress.bytes);
      bodies.pop_front();
      moved = true;
    }
    return moved;
  };
  if (!out.empty()) {
    if (SendStream* stream = streams_.to(rank, channel, Priority(priority)).stream.get()) {
      for (const Body& b : out)
        if (b.work->awaited()) stream->expedite(b.message.order);
      RW_TRY(move(out, *stream, [&](Body& b) { return stream->post(b.message.source, b.bytes, 0, b.message.order); }));
    }
  }
  if (!in.empty()) {
    Incoming& from = streams_.from(rank, channel);
    if (!from.stream && !from.gone.ok()) return from.gone;
    if (RecvStream* stream = from.stream.get())
      RW_TRY(move(in, *stream, [&](Body& b) { return stream->post(b.message.target, b.message.bytes); }));
  }
  return moved;
}

std::vector<std::shared_ptr<OperationWork>> Messages::abandon() {
  std::vector<std::shared_ptr<OperationWork>> left;
  for (PendingMessage& p : wanted_) left.push_back(std::move(p.work));
  for (Peer& peer : peers_) {
    for (auto& envelope : peer.envelopes[kOffers])
      if (envelope->ends) left.push_back(std::move(envelope->ends));
    for (auto& [id, send] : peer.offered) left.push_back(std::move(send.work));
    for (auto* by_priority : {&peer.bodies_out, &peer.bodies_in})
      for (auto& bodies : *by_priority)
        for (Body& b : bodies) left.push_back(std::move(b.work));
  }
  unfinished_ = envelopes_ = 0;
  return left;
}

}  // namespace railweave::collectives
