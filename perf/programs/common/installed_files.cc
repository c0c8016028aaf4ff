#include "common/installed_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace railweave::perf {
namespace {

constexpr const char* kPlugin = "libnccl-net-railweave.so";

}  // namespace

Result<std::filesystem::path> own_program() {
  std::error_code error;
  std::filesystem::path program = std::filesystem::canonical("/proc/self/exe", error);
  if (error) {
    return Status(Code::system, Scope::engine, fmt::format("/proc/self/exe: {}; is /proc mounted?", error.message()));
  }
  return program;
}

Result<std::filesystem::path> plugin_of(const std::filesystem::path& program) {
  const std::filesystem::path root = program.parent_path().parent_path();
  std::vector<std::string> searched;
  for (const char* folder : {"lib", "lib/" RAILWEAVE_TRIPLET}) {
    std::error_code error;
    const std::filesystem::path plugin = std::filesystem::canonical(root / folder / kPlugin, error);
    if (!error) return plugin;
    searched.push_back((root / folder).string());
  }
  return Status(Code::system, Scope::engine,
                fmt::format("{} is in none of {}; this program is not where its package put it: install the package "
                            "again",
                            kPlugin, fmt::join(searched, ", ")));
}

}  // namespace railweave::perf
