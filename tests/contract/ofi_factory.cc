// Lanes over libfabric within this process. RAILWEAVE_TEST_LIBFABRIC names a library in place of the system's: a
// process loads one. A provider that the library lacks has no factory, and a skipped test says why.
#if __has_include(<rdma/fabric.h>)
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/clock.h"
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
  return filter == text.npos || text.find("ofi", filter) != text.npos || text.find("Ofi", filter) != text.npos ||
         text.find('*', filter) != text.npos;
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

// Sends empty frames, and counts those that arrive.
class Counter final : public LaneHandler {
 public:
  std::size_t to_send = 0;
  std::size_t arrived = 0;

  std::size_t next_frames(std::span<OutFrame> frames) override {
    std::size_t n = 0;
    for (; n < frames.size() && to_send > 0; ++n, --to_send) frames[n] = {};
    return n;
  }
  void written(std::size_t) override {}
  void released(std::size_t) override {}
  Result<Target> header(std::span<const std::byte, kHeaderBytes>) override { return Target{}; }
  Status consumed(std::span<const std::byte, kHeaderBytes>) override {
    ++arrived;
    return {};
  }
};

// Breaks the TCP connections of this process: the library's, since the lanes' own connections are Unix sockets. What
// is on the way in either direction gets lost. Returns how many there were.
int break_connections() {
  int broken = 0;
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0 || peer.sin_family != AF_INET) continue;
    const sockaddr nowhere{.sa_family = AF_UNSPEC, .sa_data = {}};
    broken += ::connect(fd, &nowhere, sizeof nowhere) == 0;
  }
  return broken;
}

// A connection of the provider that breaks comes back by itself, and what was on the way is lost. Frames must then
// arrive all the same, or a lane must end.
TEST(OfiProviders, a_connection_that_breaks_loses_nothing_unnoticed) {
  if (ofi_factories().empty()) GTEST_SKIP() << "no provider:" << missing();
  for (const bool breaks_first : {true, false}) {
    LanePair pair = connect_ofi({"tcp", "net"});
    Counter near, far;
    int broken = 0;
    near.to_send = 1;
    const auto ends = [&] { return !pair.near->read(near, 1 * MiB).ok() || !pair.far->read(far, 1 * MiB).ok(); };
    ASSERT_TRUE(pair.near->write(near).ok());
    const TimePoint until = deadline_after(std::chrono::seconds(20));
    while (far.arrived < 1 && now() < until) ASSERT_FALSE(ends());
    near.to_send = 1;
    if (breaks_first) broken = break_connections();
    ASSERT_TRUE(pair.near->write(near).ok());
    if (!breaks_first) broken = break_connections();
    ASSERT_GT(broken, 0);
    bool ended = false, acknowledged = false;
    for (; !ended && !acknowledged && now() < until; pair.pass_time()) {
      (void)pair.near->ack_status();
      (void)pair.far->ack_status();
      ended = ends();
      acknowledged = far.arrived == 2 && pair.near->health().outstanding_bytes == 0;
    }
    EXPECT_TRUE(ended || acknowledged) << "a block was lost, and nobody noticed";
  }
}

TEST(OfiProviders, each_is_here) {
  if (!missing().empty()) GTEST_SKIP() << "not tested:" << missing();
}

}  // namespace
}  // namespace railweave::wire::contract
#endif
