#include "protocol/session_protocol.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace railweave::protocol {

SessionProtocol::SessionProtocol(const SessionOptions& options) : options_(options) {
  completions_.reserve(4096);
  events_.reserve(256);
}

// ------------------------------------------------------------------------------------------------------------ streams

SendStream& SessionProtocol::open_stream(Priority priority, std::uint64_t listener, std::uint64_t local_rail_mask) {
  const StreamId id = next_send_id_++;
  auto owned = std::make_unique<SendStream>(id, priority, listener, local_rail_mask, options_.eager_limit_bytes);
  SendStream& stream = *owned;
  send_streams_.emplace(id, std::move(owned));
  urgent_send_streams_ += priority == Priority::urgent ? 1 : 0;
  if (!error_.ok()) stream.fail(error_, false, completions_);
  note(stream);
  return stream;
}

RecvStream& SessionProtocol::accept_stream(StreamId id, std::uint64_t local_rail_mask, bool slots) {
  assert(find_recv(id) != nullptr && unaccepted_ > 0);
  RecvStream& stream = *find_recv(id);
  stream.accept(local_rail_mask, slots);
  --unaccepted_;
  if (!error_.ok()) stream.fail(error_, false, completions_);
  note(stream);
  return stream;
}

void SessionProtocol::refuse_stream(StreamId id, std::string reason) {
  assert(find_recv(id) != nullptr);
  RecvStream& stream = *find_recv(id);
  stream.refuse(std::move(reason));
  note(stream);
}

void SessionProtocol::post(SendStream& stream, void* request, const std::byte* data, std::uint64_t size,
                           std::uint64_t tag, std::uint64_t order) {
  stream.post(request, data, size, completions_, tag, order);
  note(stream);
}

void SessionProtocol::expedite(SendStream& stream, std::uint64_t order) {
  stream.expedite(order);
  turns_.note(stream);
}

void SessionProtocol::post(RecvStream& stream, void* request, std::byte* data, std::uint64_t capacity,
                           bool read_while_landing) {
  stream.post(request, data, capacity, completions_, read_while_landing);
  note(stream);
}

void SessionProtocol::close(SendStream& stream) {
  stream.close(completions_);
  note(stream);
}

void SessionProtocol::close(RecvStream& stream) {
  stream.close(completions_);
  note(stream);
}

bool SessionProtocol::withdraw(SendStream& stream, std::span<const std::byte> range) {
  if (!stream.touches(range)) return false;
  cancel(stream);
  return true;
}

bool SessionProtocol::withdraw(RecvStream& stream, std::span<const std::byte> range) {
  if (!stream.touches(range)) return false;
  cancel(stream);
  return true;
}

void SessionProtocol::cancel(SendStream& stream) {
  stream.fail(Status(Code::cancelled, Scope::stream, "memory of an unfinished send was deregistered"), true,
              completions_);
  note(stream);
}

void SessionProtocol::cancel(RecvStream& stream) {
  stream.fail(Status(Code::cancelled, Scope::stream, "memory of an unfinished receive was deregistered"), true,
              completions_);
  note(stream);
}

// -------------------------------------------------------------------------------------------------------------- lists

void SessionProtocol::note(SendStream& stream) {
  // waiting_bytes_ is the sum of all streams' noted_bytes.
  assert(waiting_bytes_ >= stream.noted_bytes);
  waiting_bytes_ += stream.sendable_bytes() - stream.noted_bytes;
  stream.noted_bytes = stream.sendable_bytes();
  turns_.note(stream);
  stream.has_control() ? send_control_.push(&stream) : send_control_.remove(&stream);
  if (!stream.gone() || stream.ledger_frames > 0) return;
  urgent_send_streams_ -= stream.priority() == Priority::urgent ? 1 : 0;
  assert(urgent_send_streams_ >= 0 && !stream.round_hook.linked && !stream.control_hook.linked);
  send_streams_.erase(stream.id());
}

void SessionProtocol::note(RecvStream& stream) {
  stream.has_control() ? recv_control_.push(&stream) : recv_control_.remove(&stream);
  stream.has_lazy() ? lazy_.push(&stream) : lazy_.remove(&stream);
  stream.free_memory();
  if (!stream.gone() || stream.ledger_frames > 0 || stream.landing > 0) return;
  assert(!stream.control_hook.linked && !stream.lazy_hook.linked);
  assert(stream.accepted() || unaccepted_ > 0);
  unaccepted_ -= stream.accepted() ? 0 : 1;
  recv_streams_.erase(stream.id());
}

SendStream* SessionProtocol::find_send(StreamId id) {
  const auto it = send_streams_.find(id);
  return it == send_streams_.end() ? nullptr : it->second.get();
}

RecvStream* SessionProtocol::find_recv(StreamId id) {
  const auto it = recv_streams_.find(id);
  return it == recv_streams_.end() ? nullptr : it->second.get();
}

void SessionProtocol::count_unfinished(std::uint64_t& sends, std::uint64_t& receives) const {
  sends = receives = 0;
  for (const auto& [id, stream] : send_streams_) sends += stream->unfinished();
  for (const auto& [id, stream] : recv_streams_) receives += stream->unfinished();
}

void SessionProtocol::publish_without_acks() {
  for (const auto& [id, stream] : recv_streams_) stream->publish_without_ack(completions_);
}

// ------------------------------------------------------------------------------------------------------------- ending

void SessionProtocol::announce_rail(RailUpdates::Statement news) {
  rail_updates_.announce(std::move(news));
  session_control_ = true;
}

void SessionProtocol::say_goodbye() {
  goodbye_pending_ = true;
  session_control_ = true;
}

void SessionProtocol::fail(const Status& why) {
  if (error_.ok()) error_ = why;
  // note() may forget a stream: the loops walk over ids.
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : send_streams_) ids.push_back(id);
  for (StreamId id : ids) {
    SendStream& s = *send_streams_[id];
    const bool opening = s.opening();
    s.fail(error_, false, completions_);
    if (opening) events_.push_back({Event::Kind::opened, id, 0, 0, error_});
    note(s);
  }
  ids.clear();
  for (const auto& [id, stream] : recv_streams_) ids.push_back(id);
  for (StreamId id : ids) {
    recv_streams_[id]->on_peer_lost(error_, completions_);
    note(*recv_streams_[id]);
  }
}

}  // namespace railweave::protocol
