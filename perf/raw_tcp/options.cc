#include "raw_tcp/options.h"

#include "base/error.h"
#include "common/sizes.h"

namespace railweave::perf::raw_tcp {
namespace {

Nanos nanos(double seconds) { return Nanos(std::int64_t(seconds * 1e9)); }

void add_socket_options(CLI::App& app, Options& o) {
  app.add_option("--rails,--bind", o.rails, "interfaces (names, prefixes, '=' exact) or addresses, in order")
      ->envname("NCCL_SOCKET_IFNAME");
  app.add_flag("--together", o.together, "measure all rails at once after one by one");
  app.add_flag("--together-only", o.together_only, "measure all rails at once, not one by one");
  app.add_option("--cc", o.congestion_control, "TCP_CONGESTION; empty: the kernel's default")->capture_default_str();
  app.add_option("--nodelay", o.nodelay, "TCP_NODELAY")->capture_default_str();
  app.add_option("--sndbuf", o.send_buffer, "SO_SNDBUF in bytes; 0: the kernel tunes it")->capture_default_str();
  app.add_option("--rcvbuf", o.receive_buffer, "SO_RCVBUF in bytes; 0: the kernel tunes it")->capture_default_str();
  app.add_option("--recv-size", o.recv_size_text, "most bytes per recv(); 0: the rest of the message")
      ->capture_default_str();
}

}  // namespace

void add_options(CLI::App& app, Options& o) {
  app.add_option("--mode", o.mode, "throughput or pingpong")->check(CLI::IsMember({"throughput", "pingpong"}));
  app.add_flag("--both", o.both, "both ways at once, one socket each way");
  app.add_option("--size", o.size_text, "bytes per message: send() and recv() stop at its end")->capture_default_str();
  app.add_option("--inflight,--window", o.inflight, "buffers that messages rotate over")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--duration", o.duration_s, "seconds of the timed block")->capture_default_str();
  app.add_option("--warmup", o.warmup_s, "seconds before it")->capture_default_str();
  app.add_option("--bytes", o.bytes_text,
                 "timed block of so many bytes per socket (after 8 MiB) instead of a duration");
  app.add_option("--sizes", o.sizes_text, "pingpong: message sizes")->capture_default_str();
  app.add_option("--iterations", o.iterations, "pingpong: timed round trips per size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--sleep-us", o.sleep_us, "sleep when a pass moved nothing; 0: only yield")->capture_default_str();
  app.add_option("--interval-ms", o.interval_ms, "bin of the time series")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--baseline", o.baseline_s, "seconds to sleep first, to measure the machine's own load");
  app.add_option("--at", o.at, "SECONDS:COMMAND, run by rank 0 that long after the timed block began")
      ->take_all()
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_flag("--progress", o.progress, "a line per second on stderr");
  app.add_option("--json", o.json_path, "write the results there (rank 0)");
  add_socket_options(app, o);
  add_rank_options(app, o.ranks);
}

Status Options::resolve() {
  RW_ASSIGN_OR_RETURN(size, parse_size(size_text));
  RW_ASSIGN_OR_RETURN(bytes, parse_size(bytes_text));
  RW_ASSIGN_OR_RETURN(recv_size, parse_size(recv_size_text));
  RW_ASSIGN_OR_RETURN(sizes, parse_sizes(sizes_text));
  for (const std::size_t s : sizes) {
    if (s == 0) return Status(Code::invalid_argument, Scope::request, "--sizes: TCP has no empty messages");
  }
  if (size == 0) return Status(Code::invalid_argument, Scope::request, "--size must be at least 1");
  if (rails.empty() && ranks.local) rails = "lo";
  return {};
}

BlockPlan Options::block_plan() const {
  const bool counted = bytes > 0;
  return BlockPlan{counted ? Nanos(0) : nanos(warmup_s), counted ? Nanos(0) : nanos(duration_s),
                   nanos(interval_ms / 1e3)};
}

}  // namespace railweave::perf::raw_tcp
