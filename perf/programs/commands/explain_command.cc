// `railweave explain`: the rank that a hung job waits for, from dumps.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "common/console.h"
#include "explain/dump_reader.h"
#include "explain/explanation.h"
#include "info/process_report.h"
#include "info/text_table.h"

namespace railweave::commands {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool json = false;
};

bool is_dump(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("railweave-") && name.ends_with(".json");
}

// Returns the dumps in a folder, in the order of their names; any other path as it is.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (is_dump(entry->path())) files.push_back(entry->path().string());
  if (error) return Status(Code::system, Scope::request, fmt::format("{}: {}", path, error.message()));
  if (files.empty())
    return Status(Code::invalid_argument, Scope::request,
                  fmt::format("{}: found no file railweave-*.json in the folder", path));
  std::ranges::sort(files);
  return files;
}

struct Read {
  std::vector<explain::Dump> dumps;
  std::vector<explain::LeftOut> unreadable;
};

Result<Read> read_all(const std::vector<std::string>& paths) {
  Read read;
  std::size_t files = 0;
  for (const std::string& path : paths) {
    RW_ASSIGN_OR_RETURN(const std::vector<std::string> of_path, files_of(path));
    if ((files += of_path.size()) > explain::kRanksMost)
      return Status(Code::invalid_argument, Scope::request,
                    fmt::format("found more than {} files, expected the files of one job", explain::kRanksMost));
    for (const std::string& file : of_path) {
      auto dump = explain::read_dump(file);
      if (dump.ok()) {
        read.dumps.push_back(std::move(*dump));
      } else {
        read.unreadable.push_back({file, dump.status().message()});
      }
    }
  }
  return read;
}

void print(const explain::Job& job, const explain::Verdict& verdict, const Read& read, bool json) {
  if (!json) {
    perf::say("{}", explain::explanation_text(job, verdict));
    for (const explain::LeftOut& one : job.left_out())
      perf::say("Left out {}: {}.\n", info::printable(one.file), one.why);
    return;
  }
  nlohmann::ordered_json document = explain::explanation_json(job, verdict);
  nlohmann::ordered_json unreadable = nlohmann::ordered_json::array();
  for (const explain::LeftOut& one : read.unreadable) unreadable.push_back({{"file", one.file}, {"why", one.why}});
  document["unreadable"] = std::move(unreadable);
  perf::say("{}\n", info::json_text(document, 2));
}

Status run(const Options& options) {
  RW_ASSIGN_OR_RETURN(Read read, read_all(options.paths));
  for (const explain::LeftOut& one : read.unreadable)
    perf::say(stderr, "railweave explain: skipped {}\n", info::printable(one.why));
  if (read.dumps.empty())
    return Status(Code::invalid_argument, Scope::request, "none of the files is a dump that can be read");
  RW_ASSIGN_OR_RETURN(const explain::Job job, explain::Job::of(std::exchange(read.dumps, {})));
  const explain::Verdict verdict = explain::judge(job);
  print(job, verdict, read, options.json);
  if (!read.unreadable.empty())
    return Status(
        Code::invalid_argument, Scope::request,
        fmt::format("{} of the files could not be read; the explanation is without them", read.unreadable.size()));
  if (verdict.culprits.empty())
    return Status(Code::invalid_argument, Scope::request, "no rank can be named from these dumps");
  return Status();
}

}  // namespace

void add_explain(CLI::App& program, int& status) {
  CLI::App* const command = program.add_subcommand(
      "explain",
      "Joins the dumps of a hung job (RAILWEAVE_DUMP_DIR, railweave.dump()) and names the rank that the others wait\n"
      "for, the operation, and where in Python. A folder stands for its files railweave-*.json. Pass the dumps of all\n"
      "ranks of one job.\n"
      "Exit status: 0; 1 if a file cannot be read (the explanation is then without it) or no rank can be named;\n"
      "64 for a wrong command line.");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->paths, "dumps, or folders with dumps")->required();
  command->add_flag("--json", options->json, "print JSON");
  command->callback([options, &status] { status = exit_status("explain", run(*options)); });
}

}  // namespace railweave::commands
