#include "collectives/exec/peer_streams.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/clock.h"
#include "base/error.h"

namespace railweave::collectives {
namespace {

// A message longer than an engine sends before the receive is posted. The peer posts no receive on the watch channel.
const std::byte kNeverTaken[kEagerLimitMaxBytes + 1] = {};

}  // namespace

PeerStreams::PeerStreams(std::shared_ptr<Engine> engine, int rank, std::vector<Handle> handles,
                         std::unique_ptr<Listener> listener)
    : engine_(std::move(engine)), rank_(rank), handles_(std::move(handles)), listener_(std::move(listener)) {}

PeerStreams::~PeerStreams() = default;

Status PeerStreams::lost(int peer, const Status& why) {
  const bool refused = why.system_errno() == ECONNREFUSED;
  return Status(why.code(), Scope::session,
                "rank " + std::to_string(peer) + " is lost: " +
                    (refused ? "the rank has ended, or its host refuses connections: " : "") + why.message(),
                why.system_errno());
}

Outgoing& PeerStreams::to(int peer, int channel, Priority priority) {
  const auto [it, fresh] = outgoing_.try_emplace({peer, channel});
  if (!fresh) return it->second;
  Dialling& d = dialling_.emplace_back();
  d.peer = peer;
  d.channel = channel;
  d.priority = priority;
  d.hello = {kMagic, std::uint32_t(rank_), std::uint32_t(channel), 0};
  auto connector = engine_->connect(0, handles_[std::size_t(peer)], -1, priority);
  if (connector.ok()) d.connector = std::move(*connector);  // else advance() tries again, and returns the error
  return it->second;
}

Incoming& PeerStreams::from(int peer, int channel) {
  const auto [it, fresh] = incoming_.try_emplace({peer, channel});
  if (fresh) ++awaited_;
  return it->second;
}

Status PeerStreams::advance() {
  for (auto d = dialling_.begin(); d != dialling_.end();) {
    auto joined = advance(*d);
    if (!joined.ok() && d->channel == kWatchChannel) {
      // A peer that cannot be dialled may have left in an orderly way.
      const Status& why = joined.status();
      watches_[d->peer].gone = d->stream ? why : Status(Code::left, Scope::session, why.message(), why.system_errno());
      d = dialling_.erase(d);
      continue;
    }
    if (!joined.ok()) return lost(d->peer, joined.status());
    if (*joined) outgoing_.at({d->peer, d->channel}).stream = std::move(d->stream);
    d = *joined ? dialling_.erase(d) : std::next(d);
  }
  if (awaited_ == 0) return {};
  RW_TRY(accept());
  check_awaited_peers();
  return {};
}

// Checks peers whose first message of a stream is due: such a peer may be gone, and no stream would report this.
void PeerStreams::check_awaited_peers() {
  if (awaited_ == 0) {
    polled_at_ = TimePoint{};
    return;
  }
  const TimePoint t = now();
  if (polled_at_ == TimePoint{}) polled_at_ = t;
  if (t - polled_at_ < kPollEvery) return;
  polled_at_ = t;
  for (auto& [whose, incoming] : incoming_)
    if (!incoming.stream && whose.first != rank_) incoming.gone = watch(whose.first);
}

// Sends a message that the peer never takes. If the peer is gone, the dial or this message fails.
Status PeerStreams::watch(int peer) {
  Watch& watch = watches_[peer];
  if (!watch.gone.ok()) return watch.gone;
  SendStream* stream = to(peer, kWatchChannel, Priority::normal).stream.get();
  if (stream == nullptr) return {};
  if (watch.request == nullptr) {
    auto posted = stream->post(kNeverTaken, sizeof kNeverTaken);
    if (!posted.ok()) return watch.gone = posted.status();
    watch.request = *posted;
    return {};
  }
  const auto waits = stream->test(watch.request);
  return waits.ok() ? Status() : watch.gone = waits.status();
}

Result<bool> PeerStreams::advance(Dialling& d) {
  if (!d.stream) {
    if (!d.connector) {
      RW_ASSIGN_OR_RETURN(d.connector, engine_->connect(0, handles_[std::size_t(d.peer)], -1, d.priority));
    }
    RW_ASSIGN_OR_RETURN(d.stream, d.connector->poll());
    if (!d.stream) return false;
    d.connector.reset();
  }
  if (d.request == nullptr) {
    RW_ASSIGN_OR_RETURN(d.request, d.stream->post(&d.hello, sizeof d.hello));
    if (d.request == nullptr) return false;
  }
  RW_ASSIGN_OR_RETURN(const Progress sent, d.stream->test(d.request));
  return sent.done;
}

Status PeerStreams::accept() {
  for (;;) {
    RW_ASSIGN_OR_RETURN(std::unique_ptr<RecvStream> stream, listener_->accept());
    if (!stream) break;
    arrivals_.push_back(std::make_unique<Arrival>());
    arrivals_.back()->stream = std::move(stream);
  }
  for (auto a = arrivals_.begin(); a != arrivals_.end();) {
    auto is_known = advance(**a);
    if (!is_known.ok() || *is_known) {
      a = arrivals_.erase(a);  // a stream that fails before its hello belongs to no peer
    } else {
      ++a;
    }
  }
  return {};
}

Result<bool> PeerStreams::advance(Arrival& a) {
  if (a.request == nullptr) {
    RW_ASSIGN_OR_RETURN(a.request, a.stream->post(&a.hello, sizeof a.hello));
    if (a.request == nullptr) return false;
  }
  RW_ASSIGN_OR_RETURN(const Progress got, a.stream->test(a.request));
  if (!got.done) return false;
  if (got.bytes != sizeof a.hello || a.hello.magic != kMagic || a.hello.rank >= handles_.size())
    return Status(Code::remote, Scope::stream,
                  "a stream's hello: found " + std::to_string(got.bytes) + " bytes, magic " +
                      std::to_string(a.hello.magic) + ", rank " + std::to_string(a.hello.rank) + ", expected " +
                      std::to_string(sizeof a.hello) + " bytes, magic " + std::to_string(kMagic) + ", a rank below " +
                      std::to_string(handles_.size()));
  const auto [it, fresh] = incoming_.try_emplace({int(a.hello.rank), int(a.hello.channel)});
  if (it->second.stream) return Status(Code::remote, Scope::stream, "a second stream of one channel");
  if (!fresh) --awaited_;
  it->second.stream = std::move(a.stream);
  it->second.gone = {};
  return true;
}

}  // namespace railweave::collectives
