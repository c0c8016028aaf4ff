#include "common/command_line.h"

#include <errno.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "common/console.h"

namespace railweave::perf {
namespace {

// Both "--rank" and "--rank=2" are about --rank.
bool is_about(std::string_view word, std::string_view option) {
  return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& done) {
    return status_of_output(app.exit(done));
  } catch (const CLI::ParseError& error) {
    say(stderr, "{}\n", error.what());
    return 2;
  }
}

std::optional<int> parse_command_line(const std::string& about, const std::function<void(CLI::App&)>& add_options,
                                      int argc, char** argv) {
  CLI::App app{about, ::program_invocation_short_name};
  add_options(app);
  return parse_command_line(app, argc, argv);
}

Status check_not_beside(std::string_view flag, std::span<const std::string_view> excluded,
                        std::span<const char* const> words) {
  const auto about_flag = [&](const char* word) { return is_about(word, flag); };
  if (std::none_of(words.begin(), words.end(), about_flag)) return {};
  for (const char* const word : words) {
    for (const std::string_view option : excluded) {
      if (!is_about(word, option)) continue;
      return Status(Code::invalid_argument, Scope::request,
                    fmt::format("{}: found together with {}, expected only one of the two", option, flag));
    }
  }
  return {};
}

}  // namespace railweave::perf
