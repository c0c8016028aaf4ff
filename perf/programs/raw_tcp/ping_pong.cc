#include "raw_tcp/ping_pong.h"

#include <sys/socket.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "common/idle.h"
#include "common/latency.h"
#include "common/machine.h"
#include "common/pages.h"
#include "raw_tcp/sockets.h"

namespace railweave::perf::raw_tcp {
namespace {

class Player {
 public:
  // `memory`: place of the message, for both directions.
  Player(int socket, std::span<std::byte> memory, int sleep_us)
      : socket_(socket), sleep_us_(sleep_us), memory_(memory) {}

  Status send_one() {
    return move_all([&](std::byte* at, std::size_t n) { return ::send(socket_, at, n, MSG_DONTWAIT | MSG_NOSIGNAL); });
  }
  Status receive_one() {
    return move_all([&](std::byte* at, std::size_t n) { return ::recv(socket_, at, n, MSG_DONTWAIT); });
  }

 private:
  template <class Call>
  Status move_all(Call call) {
    for (std::size_t at = 0; at < memory_.size();) {
      const ssize_t n = call(memory_.data() + at, memory_.size() - at);
      if (n > 0) {
        at += std::size_t(n);
      } else if (n == 0) {
        return Status(Code::remote, Scope::engine, "the other rank closed the connection");
      } else if (errno != EAGAIN && errno != EINTR) {
        return system_error(Scope::engine, "ping-pong");
      } else {
        idle(sleep_us_);
      }
    }
    return {};
  }

  int socket_;
  int sleep_us_;
  std::span<std::byte> memory_;
};

Status serve(Player& player, int trips) {
  for (int i = 0; i < trips; ++i) {
    RW_TRY(player.receive_one());
    RW_TRY(player.send_one());
  }
  return {};
}

Status ask(Player& player, int trips, LatencySamples* samples) {
  for (int i = 0; i < trips; ++i) {
    const TimePoint start = now();
    RW_TRY(player.send_one());
    RW_TRY(player.receive_one());
    if (samples != nullptr) samples->add(now() - start);
  }
  return {};
}

}  // namespace

Result<nlohmann::json> measure_ping_pong(ControlConnection& control, const RailAddress& rail, const Options& options) {
  RW_ASSIGN_OR_RETURN(const auto connections, open_connections(control, {rail}, 1, options));
  const int warmup = options.iterations / 10 + 1;
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t size : options.sizes) {
    RW_ASSIGN_OR_RETURN(const Pages pages, Pages::allocate(size));
    Player player(connections[0].socket.get(), pages.span().first(size), options.sleep_us);
    LatencySamples samples(std::size_t(options.iterations));
    RW_TRY(control.barrier());
    const CpuUse before = cpu_use();
    if (control.rank() == 1) {
      RW_TRY(serve(player, warmup + options.iterations));
    } else {
      RW_TRY(ask(player, warmup, nullptr));
      RW_TRY(ask(player, options.iterations, &samples));
    }
    const CpuUse used = cpu_use() - before;
    results.push_back({{"rails", {rail.label}},
                       {"size", size},
                       {"iterations", options.iterations},
                       {"rtt_us", samples.to_json()},
                       {"cpu", {{"rank0_s", used.user_s + used.system_s}, {"machine_busy_s", used.machine_busy_s}}},
                       {"congestion_control", congestion_control_of(connections[0].socket.get())}});
  }
  return results;
}

}  // namespace railweave::perf::raw_tcp
