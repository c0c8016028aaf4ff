#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/provider.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/address_text.h"
#include "base/error.h"

namespace railweave::wire::ofi {
namespace {

// What a channel copes with. A provider asks for a part of these.
constexpr std::uint64_t kModes = FI_CONTEXT | FI_CONTEXT2;
constexpr int kMemoryModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
constexpr std::size_t kDataBytes = 4;  // that a block carries beside its bytes: the token of the receiver

// Whether a provider carries each block over one TCP connection, in order.
bool is_plain_tcp(const std::string& provider) { return provider == "tcp" || provider == "net"; }

InfoPointer make_hints(const Library& library, const std::string& provider, bool delivery_complete) {
  InfoPointer hints(library.dupinfo(nullptr), library.freeinfo);
  if (!hints) return hints;
  hints->caps = FI_MSG;
  hints->mode = kModes;
  hints->ep_attr->type = FI_EP_RDM;
  const message::ChannelShape shape = shape_of(provider);
  hints->ep_attr->max_msg_size = shape.slot_bytes;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode = kMemoryModes;
  hints->domain_attr->cq_data_size = kDataBytes;
  if (is_plain_tcp(provider)) hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->size = shape.receive_slots;
  hints->rx_attr->size = shape.receive_slots;
  hints->tx_attr->op_flags = delivery_complete ? FI_DELIVERY_COMPLETE : 0;
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  return hints->fabric_attr->prov_name ? std::move(hints) : InfoPointer(nullptr, library.freeinfo);
}

bool has_ip_addresses(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
}

// Whether `found` is a socket address of `asked`.
bool is_address(const void* found, std::size_t size, const Address& asked) {
  if (!found || size < sizeof(sockaddr)) return false;
  const auto* const any = static_cast<const sockaddr*>(found);
  if (asked.family == Address::Family::v4) {
    if (any->sa_family != AF_INET || size < sizeof(sockaddr_in)) return false;
    return std::memcmp(&static_cast<const sockaddr_in*>(found)->sin_addr, asked.bytes.data(), 4) == 0;
  }
  if (any->sa_family != AF_INET6 || size < sizeof(sockaddr_in6)) return false;
  return std::memcmp(&static_cast<const sockaddr_in6*>(found)->sin6_addr, asked.bytes.data(), 16) == 0;
}

// Whether the NIC of `info` is the rail's: by its name, or by its place on the PCI bus.
bool is_nic_of(const fi_info& info, const Rail& rail) {
  const char* const domain = info.domain_attr->name;
  if (domain && rail.name == domain) return true;
  if (!info.nic || !info.nic->bus_attr || info.nic->bus_attr->bus_type != FI_BUS_PCI) return false;
  const fi_pci_attr& pci = info.nic->bus_attr->attr.pci;
  return !rail.pci_path.empty() && rail.pci_path.ends_with(fmt::format("/{:04x}:{:02x}:{:02x}.{:x}", pci.domain_id,
                                                                       pci.bus_id, pci.device_id, pci.function_id));
}

// What one question to the library brought.
struct Answer {
  InfoPointer info;  // null: nothing that fits
  std::string why;   // nothing fits
};

// Asks for one provider. `address`: the source; null: none.
Answer ask(const Library& library, const std::string& provider, const Rail& rail, const Address* address,
           bool delivery_complete) {
  Answer answer{InfoPointer(nullptr, library.freeinfo), "no memory"};
  const InfoPointer hints = make_hints(library, provider, delivery_complete);
  if (!hints) return answer;
  const std::string node = address ? to_string(*address) : "";
  fi_info* list = nullptr;
  const int error = library.getinfo(kApiVersion, address ? node.c_str() : nullptr, nullptr, address ? FI_SOURCE : 0,
                                    hints.get(), &list);
  answer.why = error ? fmt::format("fi_getinfo: {}", library.error_text(error)) : "fi_getinfo: an empty list";
  const InfoPointer found(error ? nullptr : list, library.freeinfo);
  for (const fi_info* entry = found.get(); entry; entry = entry->next) {
    answer.why = lacks(*entry, provider, rail, address);
    if (!answer.why.empty()) continue;
    answer.info.reset(library.dupinfo(entry));
    return answer;
  }
  return answer;
}

// Asks with the promise that a block has left only when the peer has it; else without, as the provider defines it.
Answer ask_either_way(const Library& library, const std::string& provider, const Rail& rail, const Address* address) {
  Answer answer = ask(library, provider, rail, address, true);
  return answer.info ? std::move(answer) : ask(library, provider, rail, address, false);
}

// With FI_DELIVERY_COMPLETE "tcp" and "net" answer each block with a packet of its own. So they do without, and blocks
// that a broken connection lost are missed in the order of arrival.
Provider made_of(InfoPointer info) {
  Provider provider{.info = std::move(info)};
  fi_tx_attr& sends = *provider.info->tx_attr;
  provider.may_lose_blocks = is_plain_tcp(provider.name()) && (sends.op_flags & FI_DELIVERY_COMPLETE) &&
                             (sends.msg_order & provider.info->rx_attr->msg_order & FI_ORDER_SAS);
  if (provider.may_lose_blocks) sends.op_flags &= ~std::uint64_t(FI_DELIVERY_COMPLETE);
  return provider;
}

// Link-local addresses are left out: they mean nothing without the name of an interface of the same host.
const Address* source_of(const Rail& rail) {
  const auto usable = std::ranges::find(rail.addresses, 0u, &Address::scope_id);
  return usable == rail.addresses.end() ? nullptr : &*usable;
}

}  // namespace

message::ChannelShape shape_of(const std::string& provider) {
  return is_plain_tcp(provider) ? message::ChannelShape{64 * KiB, 16} : message::ChannelShape{16 * KiB, kSlotsMost};
}

std::string lacks(const fi_info& info, const std::string& name, const Rail& rail, const Address* address) {
  const std::string found = info.fabric_attr->prov_name ? info.fabric_attr->prov_name : "";
  if (found != name) return fmt::format("only {} offers it", found);
  if (info.ep_attr->type != FI_EP_RDM || !(info.caps & FI_MSG)) return "no FI_EP_RDM with FI_MSG";
  if (info.mode & ~kModes) return fmt::format("it asks for mode {:#x}", info.mode & ~kModes);
  if (info.domain_attr->mr_mode & ~kMemoryModes)
    return fmt::format("it asks for memory mode {:#x}", info.domain_attr->mr_mode & ~kMemoryModes);
  const message::ChannelShape shape = shape_of(name);
  if (info.ep_attr->max_msg_size < shape.slot_bytes)
    return fmt::format("blocks of {} bytes at most, expected {}", info.ep_attr->max_msg_size, shape.slot_bytes);
  if (std::min(info.tx_attr->size, info.rx_attr->size) < shape.receive_slots)
    return fmt::format("{} sends and {} receives at a time, expected {}", info.tx_attr->size, info.rx_attr->size,
                       shape.receive_slots);
  if (info.domain_attr->cq_data_size < kDataBytes)
    return fmt::format("{} bytes of data with a block, expected {}", info.domain_attr->cq_data_size, kDataBytes);
  if (address)
    return is_address(info.src_addr, info.src_addrlen, *address)
               ? ""
               : fmt::format("its source address is not {}", to_string(*address));
  if (has_ip_addresses(info)) return "it needs a source address";
  return is_nic_of(info, rail) ? "" : fmt::format("its device is not that of rail {}", rail.name);
}

Result<Provider> choose_provider(const Library& library, const Rail& rail, std::span<const std::string> names) {
  const Address* const source = source_of(rail);
  std::string reasons;
  for (const std::string& name : names) {
    Answer answer{InfoPointer(nullptr, library.freeinfo), "no address that is valid beyond one link"};
    if (source) answer = ask_either_way(library, name, rail, source);
    if (answer.info) return made_of(std::move(answer.info));
    // A provider without IP addresses finds nothing at such a source.
    Answer any = ask_either_way(library, name, rail, nullptr);
    if (any.info) return made_of(std::move(any.info));
    reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : ", ", name, answer.why);
  }
  return Status(Code::invalid_config, Scope::engine,
                fmt::format("no provider of {} ({}) offers FI_EP_RDM with FI_MSG on address {} of rail {}; asked: {}",
                            library.name(), library.path, source ? to_string(*source) : "none", rail.name, reasons));
}

}  // namespace railweave::wire::ofi
#endif
