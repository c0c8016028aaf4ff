#include <poll.h>
#include <unistd.h>

#include "tests/contract/lane_contract.h"
#include "wire/tcp/lane.h"
#include "wire/tcp/socket.h"

namespace railweave::wire::contract {
namespace {

LanePair connect_tcp(const char* listen_text, const TcpLaneOptions& options) {
  const SocketAddress any_port = *parse_socket_address(listen_text);
  auto listening = listen_at(any_port.address(), PortRange{}, SocketOptions{});
  EXPECT_TRUE(listening.ok()) << listening.status().message();
  auto dialled = dial({any_port.address(), "lo", listening->address, SocketOptions{}});
  EXPECT_TRUE(dialled.ok()) << dialled.status().message();
  pollfd incoming{listening->fd.get(), POLLIN, 0};
  ::poll(&incoming, 1, 5000);
  auto accepted = accept_from(listening->fd.get());
  EXPECT_TRUE(accepted.ok() && accepted->fd);
  auto is_connected = connected(dialled->get(), listening->address);
  EXPECT_TRUE(is_connected.ok() && *is_connected);
  EXPECT_TRUE(set_options(accepted->fd.get(), SocketOptions{}).ok());
  LanePair pair;
  pair.near = std::make_unique<TcpLane>(std::move(*dialled), "lo", options);
  pair.far = std::make_unique<TcpLane>(std::move(accepted->fd), "lo", options);
  pair.pass_time = [] { ::usleep(100); };
  return pair;
}

}  // namespace

std::vector<LaneFactory> tcp_factories() {
  TcpLaneOptions zerocopy, paced;
  zerocopy.zerocopy_threshold_bytes = 16 * KiB;
  paced.rate_hint = Rate::from_megabits(1000);
  return {{"tcp", [] { return connect_tcp("127.0.0.1:0", {}); }},
          {"tcp_v6", [] { return connect_tcp("[::1]:0", {}); }},
          {"tcp_zerocopy", [=] { return connect_tcp("127.0.0.1:0", zerocopy); }},
          {"tcp_rate_hint", [=] { return connect_tcp("127.0.0.1:0", paced); }}};
}

}  // namespace railweave::wire::contract
