// Prints the throughput of one TCP lane and of a bare socket over loopback, each polled by one thread per end. Not a
// test.
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "wire/bootstrap/socket.h"
#include "wire/tcp/lane.h"

namespace railweave::wire {
namespace {

struct Options {
  std::size_t payload_bytes = 256 * KiB;
  std::size_t window_bytes = 4 * MiB;  // memory of each end, used again and again
  double seconds = 2;
  std::size_t zerocopy_bytes = 0;
  int rounds = 3;
  std::string congestion_control = "cubic";
};

struct Sockets {
  OwnedFd sender, receiver;
};

Sockets connect_loopback(const Options& o) {
  SocketOptions options;
  options.congestion_control = o.congestion_control;
  const SocketAddress any_port = *parse_socket_address("127.0.0.1:0");
  auto listening = listen_at(any_port.address(), PortRange{}, SocketOptions{});
  auto dialled = dial({any_port.address(), "lo", listening->address, options});
  pollfd incoming{listening->fd.get(), POLLIN, 0};
  ::poll(&incoming, 1, 5000);
  auto accepted = accept_from(listening->fd.get());
  const Status set = set_options(accepted->fd.get(), options);
  if (!set.ok()) std::printf("%s\n", set.message().c_str());
  return {std::move(*dialled), std::move(accepted->fd)};
}

double cpu_seconds() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Runs both ends for o.seconds. Returns GB/s. `receive` returns the bytes that one call received.
template <class Send, class Receive>
double run(const char* what, const Options& o, Send send, Receive receive) {
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop.load(std::memory_order_relaxed)) send();
  });
  const double cpu = cpu_seconds();
  const TimePoint begin = now(), end = begin + Nanos(std::int64_t(o.seconds * 1e9));
  std::uint64_t bytes = 0, calls = 0;
  while (now() < end) bytes += receive(), ++calls;
  const Nanos took = now() - begin;
  stop = true;
  sender.join();
  const double gigabytes = double(bytes) / 1e9, rate = Rate::of(double(bytes), took).bytes_per_s / 1e9;
  std::printf("%-4s  %6.2f GB/s  %5.3f CPU s/GB  %8.0f bytes/call\n", what, rate, (cpu_seconds() - cpu) / gigabytes,
              double(bytes) / double(calls));
  return rate;
}

double run_raw(const Options& o) {
  Sockets s = connect_loopback(o);
  std::vector<std::byte> out(o.window_bytes), in(o.window_bytes);
  std::size_t out_at = 0, in_at = 0;
  return run(
      "raw", o,
      [&] {
        const std::size_t n = std::min(o.payload_bytes, out.size() - out_at);
        const ssize_t sent = ::send(s.sender.get(), out.data() + out_at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) out_at = (out_at + std::size_t(sent)) % out.size();
      },
      [&] {
        const std::size_t n = std::min(o.payload_bytes, in.size() - in_at);
        const ssize_t got = ::recv(s.receiver.get(), in.data() + in_at, n, MSG_DONTWAIT);
        if (got > 0) in_at = (in_at + std::size_t(got)) % in.size();
        return got > 0 ? std::uint64_t(got) : 0;
      });
}

class Flood final : public LaneHandler {
 public:
  explicit Flood(const Options& o) : payload_(o.payload_bytes), memory_(std::max(o.window_bytes, o.payload_bytes)) {}

  std::size_t next_frames(std::span<OutFrame> frames) override {
    const std::size_t n = std::min<std::size_t>(frames.size(), 4);
    for (std::size_t i = 0; i < n; ++i) frames[i].payload = next();
    return n;
  }
  void written(std::size_t) override {}
  void released(std::size_t) override {}
  Result<Target> header(std::span<const std::byte, kHeaderBytes>) override { return Target{next()}; }
  Status consumed(std::span<const std::byte, kHeaderBytes>) override { return Status(); }

 private:
  std::span<std::byte> next() {
    if (at_ + payload_ > memory_.size()) at_ = 0;
    at_ += payload_;
    return std::span(memory_).subspan(at_ - payload_, payload_);
  }

  const std::size_t payload_;
  std::vector<std::byte> memory_;
  std::size_t at_ = 0;
};

double run_lane(const Options& o) {
  Sockets s = connect_loopback(o);
  TcpLaneOptions options;
  options.zerocopy_threshold_bytes = o.zerocopy_bytes;
  TcpLane sender(std::move(s.sender), "lo", options), receiver(std::move(s.receiver), "lo", options);
  Flood out(o), in(o);
  const double rate = run(
      "lane", o, [&] { (void)sender.write(out); },
      [&] {
        const auto moved = receiver.read(in, 1 * MiB);
        return moved.ok() ? std::uint64_t(moved.value().bytes) : 0;
      });
  const LaneStats a = sender.stats(), b = receiver.stats();
  std::printf("      write calls per frame %.2f, read calls per frame %.2f, min RTT %lld us\n",
              double(a.write_calls) / double(a.frames_sent), double(b.read_calls) / double(b.frames_received),
              static_cast<long long>(a.min_rtt.count() / 1000));
  return rate;
}

}  // namespace
}  // namespace railweave::wire

int main(int argc, char** argv) {
  using namespace railweave::wire;
  Options o;
  CLI::App app{"Throughput of one TCP lane over loopback beside a bare polled socket"};
  app.add_option("--payload", o.payload_bytes, "bytes per frame, and per call of the bare socket")
      ->capture_default_str();
  app.add_option("--window", o.window_bytes, "bytes of memory at each end, used again and again")
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "time per measurement")->capture_default_str();
  app.add_option("--zerocopy", o.zerocopy_bytes, "zero-copy threshold in bytes, 0: never")->capture_default_str();
  app.add_option("--cc", o.congestion_control, "TCP congestion control, empty: the kernel's default")
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "measurements of each, bare socket and lane in turn")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  for (int i = 0; i < o.rounds; ++i) {
    const double raw = run_raw(o), lane = run_lane(o);
    std::printf("      lane / raw = %.3f\n", lane / raw);
  }
}
