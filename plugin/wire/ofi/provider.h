// Chooses the provider of libfabric, and its domain, for a rail. A provider is libfabric's driver of a kind of device.
// Threads: any.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "railweave/device.h"
#include "railweave/status.h"
#include "wire/message/channel.h"
#include "wire/ofi/library.h"

namespace railweave::wire::ofi {

// Returns the slots of an endpoint in each direction, 1 MiB in all. The providers "tcp" and "net" spend several system
// calls and an acknowledgement on each block, so their blocks are large: measured over loopback, 2.5 GB/s with 64 KiB
// and 1.3 GB/s with 16 KiB. Blocks of "tcp;ofi_rxm" must stay at 16 KiB: with larger ones fi_close() of libfabric 2.5.1
// crashed.
message::ChannelShape shape_of(const std::string& provider);
inline constexpr std::uint32_t kSlotsMost = 64;  // that shape_of() returns

using InfoPointer = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

struct Provider {
  InfoPointer info;  // one entry: what the endpoints of the rail are made of
  message::ChannelShape shape = shape_of(name());
  // A send is complete when the kernel has it, unless FI_DELIVERY_COMPLETE is asked for (message/channel.h).
  bool may_lose_blocks = false;

  std::string name() const { return info->fabric_attr->prov_name; }
  bool mode(std::uint64_t bit) const { return (info->mode & bit) != 0; }
  bool memory_mode(int bit) const { return (info->domain_attr->mr_mode & bit) != 0; }
  // The completion queue must be polled by time: the provider works only while the queue is read, or its descriptor is
  // of no use. fi_trywait() of "net" does not reset the descriptor, which then stays readable for ever.
  bool needs_polling() const { return info->domain_attr->data_progress == FI_PROGRESS_MANUAL || name() == "net"; }
};

// Returns the first of the providers `names` that has what a channel needs on `rail`. The source address is the rail's,
// so that the interface is fixed. A provider without IP addresses counts if its NIC is the rail's.
// Errors: Code::invalid_config; the message says what each provider lacks.
Result<Provider> choose_provider(const Library& library, const Rail& rail, std::span<const std::string> names);

// Returns what `info` lacks for a channel on `rail`, for messages; empty: nothing. `address`: the source address that
// was asked for; null: none.
std::string lacks(const fi_info& info, const std::string& name, const Rail& rail, const Address* address);

}  // namespace railweave::wire::ofi
