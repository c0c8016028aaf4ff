// Lanes over libfabric within this process. RAILWEAVE_TEST_LIBFABRIC names a library in place of the system's: a
// process loads one. A provider that the library lacks has no factory, and a skipped test says why.
#if __has_include(<rdma/fabric.h>)
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/contract/lane_contract.h"
#include "wire/ofi/port.h"

#ifdef RW_ASAN
// libfabric 1.17 leaks some memory with each endpoint of "net" (mended by its commit d5a2e50fc).
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric"; }
#endif

namespace railweave::wire::contract {
namespace {

using Providers = std::vector<std::string>;

Result<std::unique_ptr<Port>> open_ofi(const Providers& providers) {
  Rail lo;
  lo.name = "lo";
  Address address;
  address.bytes = {127, 0, 0, 1};
  lo.addresses = {address};
  const char* const library = std::getenv("RAILWEAVE_TEST_LIBFABRIC");
  return ofi::open_port(lo, {library ? library : "", providers});
}

// A port that waits for slow endpoints, as an engine does that dials again.
class PatientPort final : public Port {
 public:
  explicit PatientPort(std::unique_ptr<Port> port) : port_(std::move(port)) {}
  Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
    auto lane = port_->begin_lane(role);
    for (int tries = 1; !lane.ok() && lane.status().code() == Code::exhausted && tries < 100; ++tries)
      lane = port_->begin_lane(role);
    return lane;
  }

 private:
  const std::unique_ptr<Port> port_;
};

LanePair connect_ofi(const Providers& providers) {
  auto opened = open_ofi(providers);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  auto port = std::make_shared<PatientPort>(std::move(*opened));
  int sockets[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  LanePair pair = connect_by(*port, {OwnedFd(sockets[0])}, {OwnedFd(sockets[1])}, [] { ::usleep(500); });
  pair.world = port;
  return pair;
}

// A process that runs one test of another wire does not load the library, which takes 0.2 s.
bool is_wanted() {
  std::ostringstream arguments;
  arguments << std::ifstream("/proc/self/cmdline").rdbuf();
  const std::string text = arguments.str();
  const auto filter = text.find("--gtest_filter=");
  return filter == text.npos || text.find("ofi", filter) != text.npos || text.find('*', filter) != text.npos;
}

std::string& missing() {
  static std::string reasons;
  return reasons;
}

std::vector<LaneFactory> ofi_factories() {
  std::vector<LaneFactory> factories;
  if (!is_wanted()) return factories;
  // "net" of libfabric 1.17 became "tcp" of 2.x. "shm" crashes with both ends in one process: 1.17 uses memory of an
  // endpoint that was closed, 2.5.1 crashes where one end alone sends first.
  const std::pair<std::string, Providers> all[] = {{"ofi_tcp", {"tcp", "net"}}, {"ofi_rxm", {"tcp;ofi_rxm"}}};
  for (const auto& [name, providers] : all) {
    const auto port = open_ofi(providers);
    if (port.ok())
      factories.push_back({name, [providers = providers] { return connect_ofi(providers); }});
    else
      missing() += "\n  " + port.status().message();
  }
  return factories;
}

const RegisteredFactories registered_ofi(ofi_factories());

TEST(OfiProviders, each_is_here) {
  if (!missing().empty()) GTEST_SKIP() << "not tested:" << missing();
}

}  // namespace
}  // namespace railweave::wire::contract
#endif
