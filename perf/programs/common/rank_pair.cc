#include "common/rank_pair.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <CLI/CLI.hpp>

#include <future>

#include "base/error.h"
#include "common/command_line.h"
#include "common/console.h"
#include "common/validators.h"

namespace railweave::perf {
namespace {

int report(int rank, const Status& status) {
  if (status.ok()) return 0;
  say(stderr, "rank {}: {}\n", rank, status.message());
  return 1;
}

int run_forked(const std::function<Status(ControlConnection&)>& body) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return report(0, system_error(Scope::engine, "socketpair"));
  }
  OwnedFd mine(ends[0]), other(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return report(0, system_error(Scope::engine, "fork"));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // rank 1 must not outlive rank 0
    mine.reset();
    ControlConnection control(1, std::move(other));
    return report(1, body(control));
  }
  other.reset();
  int mine_failed = 0;
  {
    ControlConnection control(0, std::move(mine));
    mine_failed = report(0, body(control));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool child_failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  if (child_failed && WIFSIGNALED(status)) say(stderr, "rank 1: killed by signal {}\n", WTERMSIG(status));
  return mine_failed != 0 || child_failed ? 1 : 0;
}

Status run_at(const RankOptions& options, const HostPort& place,
              const std::function<Status(ControlConnection&)>& body) {
  const auto patience = Nanos(std::int64_t(options.patience_s * 1e9));
  RW_ASSIGN_OR_RETURN(ControlConnection control,
                      ControlConnection::meet(options.rank, place.address, place.port, patience));
  return body(control);
}

// Rethrows an exception of a thread once all threads have ended.
int run_in_threads(const RankOptions& options, const std::function<Status(ControlConnection&)>& body) {
  std::vector<std::future<Status>> runs;
  for (const HostPort& place : options.places) {
    runs.push_back(std::async(std::launch::async, [&] { return run_at(options, place, body); }));
  }
  int exit_status = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Status status = runs[i].get();
    if (status.ok()) continue;
    const HostPort& place = options.places[i];
    say(stderr, "rank {} of {} port {}: {}\n", options.rank, place.address, place.port, status.message());
    exit_status = 1;
  }
  return exit_status;
}

Status check(const RankOptions& options) {
  const bool has_place = !options.places.empty() || (!options.master_address.empty() && options.master_port != 0);
  if (options.rank < 0 || !has_place) {
    return Status(
        Code::invalid_argument, Scope::engine,
        "who is the other rank? Set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (tools/lab does), or --local");
  }
  if (options.world_size != 2 || options.rank > 1) {
    return Status(Code::invalid_argument, Scope::engine,
                  fmt::format("rank {} of {}: this program needs exactly two ranks", options.rank, options.world_size));
  }
  return {};
}

}  // namespace

void add_rank_options(CLI::App& app, RankOptions& options) {
  const std::string group = "Ranks";
  app.add_flag("--local", options.local, "fork both ranks on this machine")->group(group);
  app.add_option("--rank", options.rank, "0 or 1")->envname("RANK")->check(CLI::Range(0, 1 << 20))->group(group);
  app.add_option("--world-size", options.world_size, "must be 2")
      ->envname("WORLD_SIZE")
      ->check(CLI::Range(1, 1 << 20))
      ->group(group);
  app.add_option("--master-addr", options.master_address, "where rank 0 listens")->envname("MASTER_ADDR")->group(group);
  app.add_option("--master-port", options.master_port, "its port")
      ->envname("MASTER_PORT")
      ->check(CLI::Range(1, 65535))
      ->group(group);
  app.add_option("--patience", options.patience_s, "seconds to wait for the other rank")
      ->check(number_between(0, 3600))
      ->capture_default_str()
      ->group(group);
}

Status check_rank_words(std::span<const char* const> words) {
  static constexpr std::string_view kTold[] = {"--rank", "--world-size", "--master-addr", "--master-port"};
  return check_not_beside("--local", kTold, words);
}

int run_rank(const RankOptions& options, const std::function<Status(ControlConnection&)>& body) {
  if (options.local) return run_forked(body);
  if (const Status status = check(options); !status.ok()) return report(std::max(options.rank, 0), status);
  if (!options.places.empty()) return run_in_threads(options, body);
  return report(options.rank, run_at(options, {options.master_address, options.master_port}, body));
}

}  // namespace railweave::perf
