#include "raw_tcp/options.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "common/command_line.h"
#include "common/sizes.h"

namespace railweave::perf::raw_tcp {
namespace {

void add_socket_options(CLI::App& app, Options& o) {
  app.add_option("--inflight,--window", o.inflight, "buffers that messages rotate over")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--rails,--bind", o.rails, "interfaces (names, prefixes, '=' exact) or addresses, in order")
      ->envname("NCCL_SOCKET_IFNAME");
  app.add_flag("--together", o.together, "measure all rails at once after one by one");
  app.add_flag("--together-only", o.together_only, "measure all rails at once, not one by one");
  app.add_option("--cc", o.congestion_control, "TCP_CONGESTION; empty: the kernel's default")
      ->envname("RAILWEAVE_TCP_CONGESTION")
      ->capture_default_str();
  app.add_flag("--mptcp", o.mptcp, "Multipath TCP: the kernel adds subflows by its endpoints (ip mptcp endpoint)");
  app.add_option("--nodelay", o.nodelay, "TCP_NODELAY")->check(CLI::Range(0, 1))->capture_default_str();
  app.add_option("--sndbuf", o.send_buffer, "SO_SNDBUF in bytes; 0: the kernel tunes it")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--rcvbuf", o.receive_buffer, "SO_RCVBUF in bytes; 0: the kernel tunes it")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--recv-size", o.recv_size_text, "most bytes per recv(); 0: the rest of the message")
      ->capture_default_str();
}

}  // namespace

void add_options(CLI::App& app, Options& o) {
  add_load_options(app, o);
  add_socket_options(app, o);
}

Status Options::resolve() {
  RW_TRY(resolve_load());
  RW_TRY(take("--recv-size", parse_size(recv_size_text), recv_size));
  for (const std::size_t s : sizes) {
    if (s == 0) return Status(Code::invalid_argument, Scope::request, "--sizes: TCP has no empty messages");
  }
  if (size == 0) return Status(Code::invalid_argument, Scope::request, "--size must be at least 1");
  if (rails.empty() && ranks.local) rails = "lo";
  return {};
}

}  // namespace railweave::perf::raw_tcp
