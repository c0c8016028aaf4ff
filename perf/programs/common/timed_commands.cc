#include "common/timed_commands.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace railweave::perf {
namespace {

constexpr double kLatestSeconds = 1e6;

}  // namespace

Result<TimedCommands> TimedCommands::parse(const std::vector<std::string>& texts) {
  TimedCommands result;
  for (const auto& text : texts) {
    double at_s = 0;
    const auto colon = text.find(':');
    const char* end = text.data() + std::min(colon, text.size());
    const auto [rest, error] = std::from_chars(text.data(), end, at_s);
    const bool is_time = error == std::errc() && rest == end && at_s >= 0 && at_s <= kLatestSeconds;
    if (colon >= text.size() - 1 || !is_time) {
      return Status(
          Code::invalid_argument, Scope::request,
          fmt::format("--at: found '{}', expected SECONDS:COMMAND with 0 to {} seconds", text, kLatestSeconds));
    }
    result.commands_.push_back(Command{Nanos(std::int64_t(at_s * 1e9)), text.substr(colon + 1)});
  }
  std::stable_sort(result.commands_.begin(), result.commands_.end(),
                   [](const Command& a, const Command& b) { return a.due < b.due; });
  return result;
}

void TimedCommands::tick(Nanos since_block_began) {
  for (; next_ < commands_.size() && commands_[next_].due <= since_block_began; ++next_) {
    Command& command = commands_[next_];
    command.started = since_block_began;
    const char* const argv[] = {"/bin/sh", "-c", command.text.c_str(), nullptr};
    if (::posix_spawn(&command.child, argv[0], nullptr, nullptr, const_cast<char* const*>(argv), environ) != 0) {
      command.child = -1;
    }
  }
}

nlohmann::json TimedCommands::finish() {
  nlohmann::json events = nlohmann::json::array();
  for (const Command& command : commands_) {
    if (command.child == 0) continue;
    int status = -1;
    if (command.child > 0) ::waitpid(command.child, &status, 0);
    events.push_back({{"t_s", double(command.started.count()) / 1e9},
                      {"command", command.text},
                      {"exit", command.child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1}});
  }
  return events;
}

}  // namespace railweave::perf
