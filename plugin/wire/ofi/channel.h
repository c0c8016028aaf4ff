// A channel over an endpoint of libfabric (FI_EP_RDM). An endpoint of this kind has no connection of its own: the first
// block makes the provider connect. The dialler's end sends first, because some providers lose a connection that both
// ends begin at once (libfabric issue 9052). The acceptor's end sends once it has a block of the peer.
//
// Lifetime: the destructor passes the endpoint with its slots to the endpoint thread. Threads: as message/channel.h.
#pragma once

#include <rdma/fi_eq.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "wire/message/channel.h"
#include "wire/ofi/endpoint.h"
#include "wire/ofi/endpoint_thread.h"
#include "wire/ofi/peer_address.h"
#include "wire/port.h"

namespace railweave::wire::ofi {

class OfiChannel final : public message::Channel {
 public:
  // `thread`: the one that opened `endpoint`. `token`: a random number (peer_address.h).
  OfiChannel(std::shared_ptr<EndpointThread> thread, std::unique_ptr<Endpoint> endpoint, Port::Role role,
             std::uint32_t token);
  ~OfiChannel() override;

  message::ChannelShape shape() const override { return endpoint_->shape(); }
  std::vector<std::byte> address() const override;
  Status connect(std::span<const std::byte> peer) override;
  Result<bool> is_connected() override;

  std::span<std::byte> next_slot() override;
  Result<bool> send(std::size_t bytes) override { return send_as(bytes, false); }
  Result<bool> send_surely(std::size_t bytes) override { return send_as(bytes, true); }
  bool may_lose_blocks() const override { return thread_->provider().may_lose_blocks; }
  std::uint64_t left() const override { return left_; }

  Result<std::size_t> poll(std::span<message::Arrival> arrivals) override;
  std::span<const std::byte> slot(std::uint32_t index) const override { return endpoint_->slot(slots() + index); }
  Result<bool> give_back(std::uint32_t index) override;
  LaneEnd why_failed() const override { return why_failed_; }

  int descriptor() const override { return endpoint_->descriptor(); }
  bool prepare_to_wait() override;

 private:
  std::uint32_t slots() const { return endpoint_->shape().receive_slots; }  // in each direction
  bool has_failed() const { return !failure_.ok(); }
  PeerAddress own_address() const;
  Result<bool> send_as(std::size_t bytes, bool surely);
  ssize_t send_slot(std::uint32_t slot, std::size_t bytes, bool surely);
  bool post(std::uint32_t receive_slot);
  void post_again();
  void take(const fi_cq_data_entry& done, std::span<message::Arrival> arrivals, std::size_t& count);
  void has_left(std::uint32_t send_slot);
  void read_error();
  void fail(const char* call, std::int64_t error);

  const std::shared_ptr<EndpointThread> thread_;
  std::unique_ptr<Endpoint> endpoint_;
  const Port::Role role_;
  const std::uint32_t token_;

  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::uint32_t peer_token_ = 0;
  bool has_heard_ = false;  // a block of the peer arrived

  std::uint64_t sent_ = 0, left_ = 0;
  std::array<bool, kSlotsMost> done_{};  // sent slots that are free again, though an older one is not
  std::vector<std::uint32_t> to_post_;   // receive slots that the provider could not take yet
  Status failure_;                       // the first one
  LaneEnd why_failed_ = LaneEnd::system;
  bool is_consequence_ = false;  // failure_ is a cancelled operation: a later error may be the cause
};

}  // namespace railweave::wire::ofi
