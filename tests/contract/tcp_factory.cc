#include <poll.h>
#include <unistd.h>

#include "tests/contract/lane_contract.h"
#include "wire/bootstrap/socket.h"
#include "wire/tcp/wire.h"

namespace railweave::wire::contract {
namespace {

struct Sockets {
  OwnedFd dialled, accepted;
};

Sockets connect_sockets(const char* listen_text) {
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
  return {std::move(*dialled), std::move(accepted->fd)};
}

LanePair connect_tcp(const char* listen_text, const Config& config = {}, Rate rail_speed = {},
                     std::unique_ptr<TlsStream> client = nullptr, std::unique_ptr<TlsStream> server = nullptr) {
  Sockets sockets = connect_sockets(listen_text);
  Rail rail;
  rail.name = "lo";
  rail.speed = rail_speed;
  rail.speed_known = rail_speed.bytes_per_s > 0;
  auto port = tcp_wire().open(&rail, config);
  EXPECT_TRUE(port.ok());
  return connect_by(**port, {std::move(sockets.dialled), std::move(client)},
                    {std::move(sockets.accepted), std::move(server)}, [] { ::usleep(100); });
}

void shake_hands(LanePair& pair) {
  Recorder near(*pair.near, 1), far(*pair.far, 2);
  for (int i = 0; i < 50'000 && !(pair.near->at_frame_boundary() && pair.far->at_frame_boundary()); ++i) {
    for (Recorder* end : {&near, &far}) {
      end->write();
      end->read(1 * MiB);
    }
    pair.pass_time();
  }
}

LanePair connect_tls(std::uint64_t update_bytes) {
  TlsKey key;
  key.fill(std::byte{7});
  auto client = TlsStream::make(TlsEnd::client, key, update_bytes),
       server = TlsStream::make(TlsEnd::server, key, update_bytes);
  EXPECT_TRUE(client.ok() && server.ok());
  LanePair pair = connect_tcp("127.0.0.1:0", {}, {}, std::move(*client), std::move(*server));
  shake_hands(pair);
  return pair;
}

std::vector<LaneFactory> tcp_factories() {
  Config zerocopy;
  zerocopy.zerocopy_threshold_bytes = 16 * KiB;
  return {{"tcp", [] { return connect_tcp("127.0.0.1:0"); }},
          {"tcp_v6", [] { return connect_tcp("[::1]:0"); }},
          {"tcp_zerocopy", [=] { return connect_tcp("127.0.0.1:0", zerocopy); }},
          {"tcp_rate_hint", [] { return connect_tcp("127.0.0.1:0", {}, Rate::from_megabits(1000)); }},
          {"tls", [] { return connect_tls(TlsStream::kUpdateBytes); }},
          {"tls_new_keys", [] { return connect_tls(100 * KiB); }}};
}

const RegisteredFactories registered_tcp(tcp_factories());

}  // namespace
}  // namespace railweave::wire::contract
