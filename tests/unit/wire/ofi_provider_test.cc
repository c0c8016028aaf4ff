// The library, its provider, and the addresses of the wire ofi: what is chosen, and what is refused by name.
#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/provider.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <map>
#include <set>

#include "tests/unit/wire/fake_fabric.h"
#include "wire/bootstrap/address.h"
#include "wire/ofi/failure.h"
#include "wire/ofi/peer_address.h"
#include "wire/ofi/port.h"
#include "wire/ofi/wire.h"

namespace railweave::wire::ofi {
namespace {

// Whether `text` has all `parts`, in any order.
bool has(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::all_of(parts, [&](const std::string& part) { return text.find(part) != text.npos; });
}
#define EXPECT_HAS(text, ...) EXPECT_PRED2(has, text, (std::vector<std::string>{__VA_ARGS__}))

Rail rail_of(std::array<std::uint8_t, 16> address) {
  Rail rail;
  rail.name = "eth0";
  rail.addresses.resize(1);
  rail.addresses[0].bytes = address;
  rail.pci_path = "/sys/devices/pci0000:00/0000:3b:00.1";
  return rail;
}
const Rail kRail = rail_of({10, 0, 0, 1});

// Returns an entry that has all that a channel needs, as `hints` asked, with the source address `node`.
fi_info* fitting(const char* node, const fi_info& hints, const std::string& provider) {
  fi_info* const info = FakeFabric::make_info();
  info->caps = FI_MSG;
  info->ep_attr->type = FI_EP_RDM;
  info->ep_attr->max_msg_size = 1 << 20;
  info->tx_attr->size = info->rx_attr->size = 64;
  info->tx_attr->op_flags = hints.tx_attr->op_flags;
  info->domain_attr->cq_data_size = 8;
  info->domain_attr->data_progress = FI_PROGRESS_AUTO;
  info->fabric_attr->prov_name = ::strdup(provider.c_str());
  info->addr_format = FI_ADDR_EFA;
  if (!node) return info;
  const SocketAddress source = *parse_socket_address(std::string(node) + ":0");
  info->addr_format = FI_SOCKADDR_IN;
  info->src_addrlen = source.size;
  info->src_addr = std::malloc(source.size);
  std::memcpy(info->src_addr, source.get(), source.size);
  return info;
}

class OfiProvider : public ::testing::Test {
 protected:
  // Offers, for each of `providers` that is asked for with an address, one entry that `change` changes.
  void offer(
      const std::set<std::string>& providers, std::function<void(fi_info&)> change = [](fi_info&) {}) {
    fabric.offers = [=](const char* node, const fi_info& hints, std::vector<fi_info*>& list) {
      if (!node || !providers.contains(hints.fabric_attr->prov_name)) return;
      list.push_back(fitting(node, hints, hints.fabric_attr->prov_name));
      change(*list.back());
    };
  }
  Result<Provider> choose(const std::vector<std::string>& names, const Rail& rail = kRail) {
    return choose_provider(library, rail, names);
  }
  std::string refused(const std::vector<std::string>& names) {
    const auto chosen = choose(names);
    EXPECT_EQ(chosen.status().code(), Code::invalid_config);
    return chosen.status().message();
  }

  FakeFabric fabric;
  const Library library = fabric.library();
};

TEST_F(OfiProvider, the_first_that_fits_is_chosen) {
  offer({"net", "tcp;ofi_rxm"});
  auto chosen = choose({"tcp", "net", "tcp;ofi_rxm"});
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ(chosen->name(), "net");
}

TEST_F(OfiProvider, a_layered_provider_is_not_the_one_below) {
  fabric.offers = [](const char* node, const fi_info& hints, std::vector<fi_info*>& list) {
    if (node) list.push_back(fitting(node, hints, "tcp;ofi_rxm"));
  };
  EXPECT_HAS(refused({"tcp"}), "tcp (only tcp;ofi_rxm offers it)");
}

TEST_F(OfiProvider, delivery_is_asked_for_and_done_without_if_need_be) {
  offer({"tcp", "tcp;ofi_rxm"});
  EXPECT_EQ(choose({"tcp;ofi_rxm"})->info->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
  EXPECT_FALSE(choose({"tcp;ofi_rxm"})->may_lose_blocks);
  EXPECT_EQ(choose({"tcp"})->info->tx_attr->op_flags, FI_DELIVERY_COMPLETE) << "the order of blocks was not promised";
  fabric.offers = [](const char* node, const fi_info& hints, std::vector<fi_info*>& list) {
    if (node && !(hints.tx_attr->op_flags & FI_DELIVERY_COMPLETE)) list.push_back(fitting(node, hints, "tcp"));
  };
  EXPECT_EQ(choose({"tcp"})->info->tx_attr->op_flags, 0u);
}

TEST_F(OfiProvider, order_replaces_delivery_over_plain_tcp) {
  offer({"tcp", "net", "tcp;ofi_rxm"},
        [](fi_info& info) { info.tx_attr->msg_order = info.rx_attr->msg_order = FI_ORDER_SAS; });
  for (const std::string name : {"tcp", "net"}) {
    EXPECT_EQ(choose({name})->info->tx_attr->op_flags, 0u);
    EXPECT_TRUE(choose({name})->may_lose_blocks);
  }
  EXPECT_EQ(choose({"tcp;ofi_rxm"})->info->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
  EXPECT_FALSE(choose({"tcp;ofi_rxm"})->may_lose_blocks);
}

TEST_F(OfiProvider, another_source_address_is_not_the_rails) {
  offer({"tcp"}, [](fi_info& info) { static_cast<sockaddr_in*>(info.src_addr)->sin_addr.s_addr = htonl(0x0a000002); });
  EXPECT_HAS(refused({"tcp"}), "tcp (its source address is not 10.0.0.1)");
}

TEST_F(OfiProvider, a_refusal_names_all_that_was_asked) {
  EXPECT_HAS(refused({"tcp", "net"}), "libfabric 1.17 (fake)", "address 10.0.0.1 of rail eth0",
             "tcp (fi_getinfo: No data available), net (fi_getinfo: No data available)");
}

TEST_F(OfiProvider, a_device_without_ip_counts_if_it_is_the_rails) {
  static fi_bus_attr bus{};
  static fid_nic nic{};
  bus.bus_type = FI_BUS_PCI;
  bus.attr.pci = {0, 0x3b, 0, 1};
  nic.bus_attr = &bus;
  fabric.offers = [](const char* node, const fi_info& hints, std::vector<fi_info*>& list) {
    if (node) return;
    list.push_back(fitting(node, hints, "efa"));
    list.back()->nic = &nic;
  };
  EXPECT_TRUE(choose({"efa"}).ok());
  bus.attr.pci.function_id = 0;
  EXPECT_FALSE(choose({"efa"}).ok());
}

TEST_F(OfiProvider, each_need_is_checked) {
  const std::map<std::string, std::function<void(fi_info&)>> cases = {
      {"no FI_EP_RDM", [](fi_info& info) { info.ep_attr->type = FI_EP_DGRAM; }},
      {"no FI_EP_RDM with FI_MSG", [](fi_info& info) { info.caps = FI_RMA; }},
      {"asks for mode", [](fi_info& info) { info.mode = FI_MSG_PREFIX; }},
      {"asks for memory mode", [](fi_info& info) { info.domain_attr->mr_mode = FI_MR_HMEM; }},
      {"blocks of 1024 bytes", [](fi_info& info) { info.ep_attr->max_msg_size = 1024; }},
      {"15 sends and 64 receives", [](fi_info& info) { info.tx_attr->size = 15; }},
      {"2 bytes of data", [](fi_info& info) { info.domain_attr->cq_data_size = 2; }}};
  for (const auto& [text, change] : cases) {
    offer({"tcp"}, change);
    EXPECT_HAS(refused({"tcp"}), text);
  }
}

TEST_F(OfiProvider, blocks_are_large_where_each_costs_a_packet) {
  offer({"net", "tcp;ofi_rxm"});
  EXPECT_EQ(choose({"net"})->shape, (message::ChannelShape{64 * KiB, 16}));
  EXPECT_EQ(choose({"tcp;ofi_rxm"})->shape, (message::ChannelShape{16 * KiB, 64}));
}

TEST_F(OfiProvider, a_queue_is_polled_where_its_descriptor_does_not_work) {
  offer({"tcp", "net"});
  EXPECT_FALSE(choose({"tcp"})->needs_polling());
  EXPECT_TRUE(choose({"net"})->needs_polling());
  offer({"tcp"}, [](fi_info& info) { info.domain_attr->data_progress = FI_PROGRESS_MANUAL; });
  EXPECT_TRUE(choose({"tcp"})->needs_polling());
}

TEST_F(OfiProvider, a_link_local_address_is_left_out) {
  offer({"tcp"});
  Rail rail = kRail;
  rail.addresses[0].scope_id = 3;
  EXPECT_HAS(choose({"tcp"}, rail).status().message(), "no address that is valid beyond one link");
  rail.addresses.push_back(kRail.addresses[0]);
  EXPECT_TRUE(choose({"tcp"}, rail).ok());
}

// --- the library

int anything;  // has an address

TEST(OfiLibrary, a_missing_symbol_is_named) {
  const auto resolved = resolve("/lib/old.so", [](const char* name, const char*) -> void* {
    return std::string(name) == "fi_dupinfo" ? nullptr : &anything;
  });
  EXPECT_EQ(resolved.status().code(), Code::invalid_config);
  EXPECT_HAS(resolved.status().message(), "/lib/old.so", "fi_dupinfo of version FABRIC_1.3", "libfabric1");
}

TEST(OfiLibrary, an_old_library_is_refused_by_its_version) {
  FakeFabric fabric;
  fabric.version = FI_VERSION(1, 11);
  const auto version = fabric.library().version;
  const auto resolved = resolve("/lib/old.so", [=](const char* name, const char*) -> void* {
    return std::string(name) == "fi_version" ? reinterpret_cast<void*>(version) : &anything;
  });
  EXPECT_EQ(resolved.status().message(), "/lib/old.so is libfabric 1.11, too old: libfabric 1.17 or later is needed");
}

TEST(OfiLibrary, a_missing_library_is_named_with_its_package) {
  const auto port = open_port(kRail, {"/nowhere/libfabric.so.1", {"tcp"}});
  EXPECT_EQ(port.status().code(), Code::invalid_config);
  EXPECT_HAS(port.status().message(), "/nowhere/libfabric.so.1", "libfabric1");
}

// --- addresses and errors

class OfiAddress : public ::testing::Test {
 protected:
  static std::vector<std::byte> name_of(const char* text) {
    const SocketAddress address = *parse_socket_address(text);
    const auto bytes = std::as_bytes(std::span(&address.storage, 1)).first(address.size);
    return {bytes.begin(), bytes.end()};
  }
  static PeerAddress of(const char* text) { return {0x12345678, "tcp", name_of(text)}; }
  static Result<PeerAddress> decode(std::span<const std::byte> bytes) {
    return decode_address(bytes, of("10.0.0.1:1"), FI_SOCKADDR_IN);
  }
  static std::string refused(std::span<const std::byte> bytes) {
    EXPECT_EQ(decode(bytes).status().code(), Code::remote);
    return decode(bytes).status().message();
  }
};

TEST_F(OfiAddress, comes_back_as_it_was) {
  auto decoded = decode(encode(of("10.0.0.2:4791")));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->token, 0x12345678u);
  EXPECT_EQ(decoded->name, name_of("10.0.0.2:4791"));
}

TEST_F(OfiAddress, the_longest_names_fit) {
  const PeerAddress longest{1, std::string(100, 'p'), std::vector<std::byte>(kNameBytesMax)};
  const auto bytes = encode(longest);
  EXPECT_LE(bytes.size(), message::kAddressBytesMax);
  EXPECT_TRUE(decode_address(bytes, longest, FI_ADDR_EFA).ok());
}

TEST_F(OfiAddress, defects_are_named) {
  auto bytes = encode(of("10.0.0.2:4791"));
  EXPECT_HAS(refused(std::span(bytes).first(6)), "6 bytes, expected 7 to 128");
  EXPECT_HAS(refused(std::vector<std::byte>(129)), "129 bytes");
  EXPECT_HAS(refused(std::span(bytes).first(9)), "9 bytes, expected more than 9");
  EXPECT_HAS(refused(std::span(bytes).first(20)), "a name of 11 bytes, expected 16");
  EXPECT_HAS(refused(encode(of("[::1]:1"))), "a name of 28 bytes");
  bytes[9] = std::byte{9};
  EXPECT_HAS(refused(bytes), "address family 9, expected 2");
  bytes[6] = std::byte{'T'};
  EXPECT_HAS(refused(bytes), "the peer's provider of libfabric is Tcp, and this end's is tcp");
  bytes[0] = std::byte{2};
  EXPECT_HAS(refused(bytes), "version 2, expected 1");
}

TEST_F(OfiAddress, a_text_must_end) {
  const auto check = [](const char* text, std::size_t bytes) {
    const auto name = std::as_bytes(std::span(text, bytes));
    return decode_address(encode({1, "", {name.begin(), name.end()}}), {}, FI_ADDR_STR).ok();
  };
  EXPECT_TRUE(check("fi_shm://1", 11));
  EXPECT_FALSE(check("fi_shm://1", 10));
  EXPECT_FALSE(check("fi\0shm", 7));
}

TEST(OfiFailure, errors_say_how_a_lane_ended) {
  FakeFabric fabric;
  const Library library = fabric.library();
  EXPECT_EQ(lane_end_of(-FI_ECONNRESET), LaneEnd::reset);
  EXPECT_EQ(lane_end_of(FI_ESHUTDOWN), LaneEnd::reset);
  EXPECT_EQ(lane_end_of(FI_ETIMEDOUT), LaneEnd::unanswered);
  EXPECT_EQ(lane_end_of(FI_ECONNREFUSED), LaneEnd::refused);
  EXPECT_EQ(lane_end_of(-FI_EIO), LaneEnd::system);
  EXPECT_EQ(failure(library, "a call", FI_ECONNRESET).code(), Code::remote);
  EXPECT_EQ(failure(library, "a call", -FI_EIO).code(), Code::system);
  EXPECT_EQ(failure(library, "a call", -FI_EIO).message(), "a call: Input/output error (error 5)");
}

TEST(OfiWire, is_one_between_hosts_that_does_not_encrypt) {
  EXPECT_EQ(ofi_wire().name(), "ofi");
  EXPECT_EQ(ofi_wire().reach(), Wire::Reach::between_hosts);
  EXPECT_FALSE(ofi_wire().can_encrypt());
}

}  // namespace
}  // namespace railweave::wire::ofi
#endif
