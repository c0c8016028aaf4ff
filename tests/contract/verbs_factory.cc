// Lanes over RDMA: on devices in memory, and on this host's devices if RAILWEAVE_TEST_RDMA names two interfaces with
// IPv4 addresses ("v0,v1"): the ends of each lane.
#if __has_include(<infiniband/verbs.h>)
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/contract/lane_contract.h"
#include "tests/unit/wire/fake_verbs.h"
#include "wire/verbs/port.h"
#include "wire/verbs/wire.h"

namespace railweave::wire::contract {
namespace {

// The dialler's port is on one rail, the acceptor's on another. A lane begins even if a device's thread gets no core
// for longer than a port waits.
class TwoPorts final : public Port {
 public:
  TwoPorts(std::unique_ptr<Port> dialler, std::unique_ptr<Port> acceptor)
      : dialler_(std::move(dialler)), acceptor_(std::move(acceptor)) {}
  Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
    Port& port = *(role == Role::dialler ? dialler_ : acceptor_);
    auto begun = port.begin_lane(role);
    for (int tries = 0; begun.status().code() == Code::exhausted && tries < 50; ++tries) begun = port.begin_lane(role);
    return begun;
  }

 private:
  const std::unique_ptr<Port> dialler_, acceptor_;
};

LanePair connect_ports(Port& ports, std::function<void()> pass_time) {
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  return connect_by(ports, {OwnedFd(sockets[0])}, {OwnedFd(sockets[1])}, std::move(pass_time));
}

// --- devices in memory

struct FakeWorld {
  verbs::FakeVerbs fake;
  std::unique_ptr<Port> ports;  // destroyed first
};

LanePair connect_fake(const verbs::FakeVerbs::Faults& faults) {
  const auto world = std::make_shared<FakeWorld>();
  const Rail near = world->fake.add_rail("fake0", "v0", 1), far = world->fake.add_rail("fake1", "v1", 2);
  auto dialler = verbs::open_port(world->fake.host(), near, Config{});
  auto acceptor = verbs::open_port(world->fake.host(), far, Config{});
  EXPECT_TRUE(dialler.ok()) << dialler.status().message();
  EXPECT_TRUE(acceptor.ok()) << acceptor.status().message();
  world->fake.set_faults(faults);
  world->ports = std::make_unique<TwoPorts>(std::move(*dialler), std::move(*acceptor));
  LanePair pair = connect_ports(*world->ports, [&fake = world->fake] {
    // The devices' threads connect the queue pairs.
    if (!fake.wait_until([](const auto& counts) { return counts.connected >= 2; })) ADD_FAILURE() << "not connected";
    ::usleep(10);
  });
  pair.world = world;
  return pair;
}

// --- devices of this host

// Returns the interface with its IPv4 addresses.
Rail rail_of_interface(const std::string& name) {
  Rail rail;
  rail.name = name;
  rail.ifindex = int(::if_nametoindex(name.c_str()));
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return rail;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (name != one->ifa_name || !one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
    Address address;
    std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    rail.addresses.push_back(address);
  }
  ::freeifaddrs(all);
  return rail;
}

LanePair connect_real(const std::string& near, const std::string& far) {
  const Rail near_rail = rail_of_interface(near), far_rail = rail_of_interface(far);
  auto dialler = verbs_wire().open(&near_rail, Config{});
  auto acceptor = verbs_wire().open(&far_rail, Config{});
  EXPECT_TRUE(dialler.ok()) << dialler.status().message();
  EXPECT_TRUE(acceptor.ok()) << acceptor.status().message();
  const auto ports = std::make_shared<TwoPorts>(std::move(*dialler), std::move(*acceptor));
  LanePair pair = connect_ports(*ports, [turns = 0]() mutable {
    // An emulated device takes long to connect.
    ::usleep(turns++ < 1000 ? 3000 : 200);
  });
  pair.world = ports;
  return pair;
}

std::vector<LaneFactory> verbs_factories() {
  verbs::FakeVerbs::Faults plain, refusing;
  refusing.short_posts = 3;
  std::vector<LaneFactory> factories{{"verbs_fake", [=] { return connect_fake(plain); }},
                                     {"verbs_fake_refusing", [=] { return connect_fake(refusing); }}};
  const char* const rails = std::getenv("RAILWEAVE_TEST_RDMA");
  const std::string names = rails ? rails : "";
  if (const auto comma = names.find(','); comma != names.npos)
    factories.push_back(
        {"verbs", [near = names.substr(0, comma), far = names.substr(comma + 1)] { return connect_real(near, far); }});
  return factories;
}

const RegisteredFactories registered_verbs(verbs_factories());

TEST(VerbsDevices, are_here) {
  if (!std::getenv("RAILWEAVE_TEST_RDMA")) GTEST_SKIP() << "RAILWEAVE_TEST_RDMA names no two RDMA interfaces";
}

}  // namespace
}  // namespace railweave::wire::contract
#endif
