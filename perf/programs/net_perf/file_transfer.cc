#include "net_perf/file_transfer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "base/error.h"
#include "net_perf/checksum.h"

namespace railweave::perf::net_perf {
namespace {

Status fill_from(const std::string& path, int file, std::span<std::byte> memory) {
  for (std::size_t at = 0; at < memory.size();) {
    const ssize_t n = ::read(file, memory.data() + at, memory.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(Scope::engine, "read " + path);
    if (n == 0) return Status(Code::invalid_argument, Scope::engine, path + " became shorter while it was read");
    at += std::size_t(n);
  }
  return {};
}

struct Content {
  Pages pages;
  std::size_t bytes;
  std::span<std::byte> span() const { return pages.span().first(bytes); }
};

Result<Content> read_file(const std::string& path) {
  OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return system_error(Scope::engine, "open " + path);
  if (!S_ISREG(about.st_mode)) return Status(Code::invalid_argument, Scope::engine, path + " is not a regular file");
  RW_ASSIGN_OR_RETURN(Pages pages, Pages::allocate(std::size_t(about.st_size)));
  RW_TRY(fill_from(path, file.get(), pages.span().first(std::size_t(about.st_size))));
  return Content{std::move(pages), std::size_t(about.st_size)};
}

// Rank 0 reads the file. Rank 1 allocates room for its bytes.
Result<Content> make_content(const RankRun& run) {
  if (run.rank() == 0) {
    RW_ASSIGN_OR_RETURN(Content content, read_file(run.options.file));
    RW_TRY(run.control.send(std::to_string(content.bytes)));
    return content;
  }
  RW_ASSIGN_OR_RETURN(const std::string bytes, run.control.receive());
  RW_ASSIGN_OR_RETURN(Pages pages, Pages::allocate(std::stoull(bytes)));
  return Content{std::move(pages), std::stoull(bytes)};
}

Status store(const std::string& path, std::span<const std::byte> data) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data.data()), std::streamsize(data.size()));
  file.close();
  return file ? Status() : system_error(Scope::engine, "write " + path);
}

Result<nlohmann::json> compare_sums(const RankRun& run, std::span<const std::byte> content) {
  const std::string mine = sha256(content);
  RW_ASSIGN_OR_RETURN(const std::string other, run.control.exchange(mine));
  return nlohmann::json{{"path", run.options.file},
                        {"bytes", content.size()},
                        {"sha256_sent", run.rank() == 0 ? mine : other},
                        {"sha256_received", run.rank() == 0 ? other : mine},
                        {"match", mine == other}};
}

}  // namespace

Result<nlohmann::json> transfer_file(const RankRun& run) {
  const Options& options = run.options;
  RW_ASSIGN_OR_RETURN(const Content content, make_content(run));
  const MessageSizes sizes = MessageSizes::cut(options.size, content.bytes);
  const bool sends = run.rank() == 0;
  RW_ASSIGN_OR_RETURN(const Links links, Links::open(run.plugin, run.control, sends ? 1 : 0, sends ? 0 : 1));
  FlowSet flows;
  const FlowContext context{run.plugin.net(), &sizes, nullptr, options.inflight, flows.totals, flows.verified};
  RW_TRY(add_flows(flows, context, links, run.rank(), [&]() -> Result<std::unique_ptr<MessageMemory>> {
    return std::unique_ptr<MessageMemory>(std::make_unique<FlatMemory>(content.pages.span()));
  }));
  RW_ASSIGN_OR_RETURN(InterfaceSampler interfaces, InterfaceSampler::open());
  TimedBlock block(BlockPlan{Nanos(0), Nanos(0), nanos(options.interval_ms / 1e3)}, std::move(interfaces));
  RW_ASSIGN_OR_RETURN(TimedCommands commands, TimedCommands::parse(options.at));
  ProxyLoop loop(run.control, flows, LoopOptions{options.sleep_us, options.progress && sends});
  const auto counters_before = run.engine_counters();
  RW_TRY(run.control.barrier());

  RW_TRY(loop.run_counted(block, commands, {sizes.count_for(0, 0, content.bytes)}));
  nlohmann::json mine = rank_entry(run, block, loop, flows, counters_before);
  if (sends) mine["events"] = commands.finish();
  RW_ASSIGN_OR_RETURN(nlohmann::json result, join_ranks(run, std::move(mine)));
  RW_ASSIGN_OR_RETURN(result["file"], compare_sums(run, content.span()));
  if (!sends && !options.output.empty()) RW_TRY(store(options.output, content.span()));
  return result;
}

}  // namespace railweave::perf::net_perf
