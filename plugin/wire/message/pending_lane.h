// A message lane that is not established yet (wire/port.h).
//
//   begin: a channel of this end → offers → start(): connecting → ready, the peer too → probes both ways → the lane
//
// Each end sends a byte on the connection of the handshake once its channel is connected, and waits for the peer's. So
// no block is sent to a channel that would drop it. Then a probe travels each way, so a lane is proven both ways.
// Threads: as wire/port.h says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wire/message/channel.h"
#include "wire/message/lane.h"
#include "wire/message/peer_socket.h"
#include "wire/port.h"

namespace railweave::wire::message {

class PendingMessageLane final : public PendingLane {
 public:
  // `rail`, `wire`: names, for messages and metrics.
  PendingMessageLane(std::unique_ptr<Channel> channel, std::string rail, std::string_view wire);

  Result<Offer> offer() override;
  Status complete(Offer offer) override;
  void start(Bootstrap bootstrap) override;
  Result<std::unique_ptr<Lane>> poll() override;

 private:
  Result<bool> are_both_ready();

  std::unique_ptr<Channel> channel_;  // null once lane_ has it
  const std::string rail_, wire_;
  ChannelShape peer_;
  std::optional<PeerSocket> peer_socket_;
  bool said_ready_ = false;
  std::unique_ptr<MessageLane> lane_;  // while it is not proven
};

}  // namespace railweave::wire::message
