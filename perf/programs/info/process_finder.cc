#include "info/process_finder.h"

#include <fmt/format.h>
#include <signal.h>
#include <algorithm>
#include <cerrno>
#include <fstream>

#include "engine/stats/stats_client.h"
#include "engine/stats/stats_socket.h"
#include "info/text_table.h"

namespace railweave::info {
namespace {

std::string command_of(pid_t pid) {
  std::string command;
  if (pid > 0) std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), command);
  return command;
}

// Returns `pid` if a process of this host has that pid; else 0.
pid_t if_alive(pid_t pid) { return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM) ? pid : 0; }

std::string name_of(const RunningEngine& engine) {
  std::string text = engine.pid > 0 ? fmt::format("pid {}", engine.pid) : "pid in another namespace";
  if (!engine.command.empty()) text += fmt::format(" ({})", printable(engine.command));
  if (engine.pid != engine.pid_in_name) text += fmt::format(", which calls itself {}", engine.pid_in_name);
  return text;
}

}  // namespace

std::vector<RunningEngine> running_engines(const std::string& dir) {
  std::vector<RunningEngine> engines;
  for (const std::string& path : engine::stats_sockets(dir)) {
    const int pid_in_name = engine::pid_in_name(path);
    const Result<pid_t> owner = engine::stats_owner(path);
    if (!owner.ok() && owner.status().code() != Code::timed_out) continue;
    const pid_t pid = owner.ok() ? owner.value() : if_alive(pid_in_name);
    engines.push_back({path, pid, pid_in_name, command_of(pid)});
  }
  std::stable_sort(engines.begin(), engines.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return engines;
}

Result<std::vector<RunningEngine>> engines_of(const std::string& dir, pid_t pid) {
  const std::vector<RunningEngine> all = running_engines(dir);
  std::vector<RunningEngine> matching;
  std::copy_if(all.begin(), all.end(), std::back_inserter(matching), [&](const auto& one) { return one.pid == pid; });
  if (!matching.empty()) return matching;
  const std::string others = engines_text(all);
  const std::size_t sockets = engine::stats_sockets(dir).size();
  const std::size_t refused = sockets - std::min(sockets, all.size());  // engines can end between the two listings
  return Status(
      Code::invalid_argument, Scope::request,
      fmt::format("process {} has no Railweave engine that answers in {} (RAILWEAVE_STATS_DIR of the process; its "
                  "user or root may ask){}{}",
                  pid, dir, others.empty() ? "; no other process answers there" : "; these have:\n" + others,
                  refused ? fmt::format("\n{} more socket{} stale or another user's", refused,
                                        refused == 1 ? " there is" : "s there are")
                          : ""));
}

std::string engines_text(const std::vector<RunningEngine>& engines) {
  std::string text;
  for (const RunningEngine& engine : engines) text += fmt::format("{}  {}", text.empty() ? "" : "\n", name_of(engine));
  return text;
}

}  // namespace railweave::info
