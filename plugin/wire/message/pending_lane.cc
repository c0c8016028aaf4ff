#include "wire/message/pending_lane.h"

#include <cassert>
#include <utility>

#include "base/error.h"
#include "wire/message/offer.h"

namespace railweave::wire::message {

PendingMessageLane::PendingMessageLane(std::unique_ptr<Channel> channel, std::string rail, std::string_view wire)
    : channel_(std::move(channel)), rail_(std::move(rail)), wire_(wire) {}

Result<Offer> PendingMessageLane::offer() {
  Offer offer;
  offer.bytes = encode(ChannelOffer{channel_->shape(), channel_->address()});
  return offer;
}

Status PendingMessageLane::complete(Offer offer) {
  RW_ASSIGN_OR_RETURN(const ChannelOffer peer, decode_offer(offer.bytes));
  peer_ = peer.shape;
  return channel_->connect(peer.address);
}

void PendingMessageLane::start(Bootstrap bootstrap) { peer_socket_.emplace(std::move(bootstrap.fd)); }

Result<std::unique_ptr<Lane>> PendingMessageLane::poll() {
  if (!lane_) {
    RW_ASSIGN_OR_RETURN(const bool ready, are_both_ready());
    if (!ready) return std::unique_ptr<Lane>();
    lane_ = std::make_unique<MessageLane>(std::move(channel_), std::move(*peer_socket_), wire_, rail_, peer_);
  }
  RW_ASSIGN_OR_RETURN(const bool proven, lane_->is_proven());
  return proven ? std::unique_ptr<Lane>(std::move(lane_)) : nullptr;
}

Result<bool> PendingMessageLane::are_both_ready() {
  assert(channel_ && peer_socket_);
  RW_ASSIGN_OR_RETURN(const bool connected, channel_->is_connected());
  peer_socket_->read();
  if (peer_socket_->ended())
    return Status(Code::remote, Scope::lane, "the peer closed the connection before its end of the lane was ready");
  if (connected && !said_ready_) said_ready_ = peer_socket_->send_ready();
  return said_ready_ && peer_socket_->is_peer_ready();
}

}  // namespace railweave::wire::message
