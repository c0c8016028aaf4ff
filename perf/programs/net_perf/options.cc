#include "net_perf/options.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "common/command_line.h"
#include "common/installed_files.h"
#include "common/validators.h"
#include "nccl/abi/net.h"

namespace railweave::perf::net_perf {
namespace {

void add_plugin_options(CLI::App& app, Options& o) {
  const std::string group = "Plugin";
  app.add_option("--plugin", o.plugin_path, "library; default: the NCCL plugin that is installed with this program")
      ->group(group);
  app.add_option("--api", o.api, "version of the net API, v6 to v12, or newest")->capture_default_str()->group(group);
  app.add_option("--device", o.device, "the plugin's device")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str()
      ->group(group);
  app.add_option("--log", o.log_level, "what of the plugin's log to show")
      ->envname("NCCL_DEBUG")
      ->check(CLI::IsMember({"NONE", "VERSION", "WARN", "INFO", "TRACE"}, CLI::ignore_case))
      ->capture_default_str()
      ->group(group);
}

void add_message_options(CLI::App& app, Options& o) {
  const std::string group = "Messages";
  app.add_option("--random-sizes", o.random_text, "sizes drawn from a range, as 0..8M, instead of --size")
      ->group(group);
  app.add_option("--seed", o.seed, "of random sizes and patterns")
      ->check(whole_number())
      ->capture_default_str()
      ->group(group);
  app.add_option("--inflight", o.inflight, "messages in flight per comm")
      ->check(CLI::Range(1, nccl::abi::kMaxRequests))
      ->capture_default_str()
      ->group(group);
  app.add_option("--comms", o.comms, "connections each way")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->group(group);
  app.add_flag("--verify", o.verify, "check every byte")->group(group);
  app.add_option("--file", o.file, "send this file from rank 0 over one connection instead, without warm-up")
      ->check(CLI::ExistingFile)
      ->group(group);
  app.add_option("--output", o.output, "with --file: rank 1 stores what it received there")->group(group);
}

void add_address_options(CLI::App& app, Options& o) {
  app.add_option(
         "--meet", o.meet_text,
         "ADDRESS:PORT,ADDRESS:PORT,...: rank 1 meets a rank 0 at each of them, a thread for each in one process")
      ->group("Ranks");
}

Status refused(std::string why) { return Status(Code::invalid_argument, Scope::request, std::move(why)); }

// Refuses --meet for rank 0, which listens at one address only, and with --output, which several threads would write.
Status check_addresses(const Options& o) {
  if (o.ranks.local) return refused("--meet: found together with --local, expected only one of the two");
  if (o.ranks.rank != 1) {
    return refused(fmt::format("--meet: found {}, expected rank 1",
                               o.ranks.rank < 0 ? "no rank" : fmt::format("rank {}", o.ranks.rank)));
  }
  if (!o.output.empty()) return refused("--meet: found together with --output, expected only one of the two");
  return {};
}

Result<int> parse_api(const std::string& text) {
  if (text == "newest") return 0;
  const std::string digits = text.substr(text.empty() || text[0] != 'v' ? 0 : 1);
  for (int v = nccl::abi::kOldestVersion; v <= nccl::abi::kNewestVersion; ++v) {
    if (digits == std::to_string(v)) return v;
  }
  return refused("--api '" + text + "': expected v6 to v12, or newest");
}

Result<std::string> installed_plugin() {
  RW_ASSIGN_OR_RETURN(const std::filesystem::path program, own_program());
  RW_ASSIGN_OR_RETURN(const std::filesystem::path plugin, plugin_of(program));
  return plugin.string();
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  add_plugin_options(app, options);
  add_message_options(app, options);
  add_load_options(app, options);
  add_address_options(app, options);
  app.footer("For example: net_perf --local --size 1M --inflight 4    (two processes of this machine)");
}

Status Options::resolve() {
  RW_TRY(resolve_load());
  RW_ASSIGN_OR_RETURN(api_version, parse_api(api));
  range = SizeRange{size, size};
  if (random_sizes()) {
    RW_TRY(take("--random-sizes", parse_size_range(random_text), range));
  }
  if (range.largest > nccl::abi::kMaxMessageBytesInt) {
    return refused("messages of more than 1 GiB: NCCL never sends such");
  }
  if (bytes > 0 && range.largest == 0) return refused("--bytes with empty messages would never end");
  if (!file.empty()) {
    mode = "file";
    if (size == 0) return refused("--file with empty messages would never end");
  }
  if (meet_text) {
    RW_TRY(check_addresses(*this));
    RW_TRY(take("--meet", parse_host_ports(*meet_text), ranks.places));
  }
  if (plugin_path.empty()) {
    RW_ASSIGN_OR_RETURN(plugin_path, installed_plugin());
  }
  return {};
}

}  // namespace railweave::perf::net_perf
