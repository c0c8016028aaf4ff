// Parses command lines and checks what CLI11 cannot. Ends the program with an exit status for --help or an error.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "railweave/status.h"

namespace CLI {
class App;
}

namespace railweave::perf {

// Returns nothing when the program should continue. Otherwise returns main()'s exit status: 0 after --help (1 if the
// help could not be written), 2 for an invalid command line, with one line on stderr.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

// Same for the options that `add_options` adds. The text of --help begins with `about`.
std::optional<int> parse_command_line(const std::string& about, const std::function<void(CLI::App&)>& add_options,
                                      int argc, char** argv);

// Stores the value of `result` in `into`, or returns its error as invalid_argument, prefixed with `option`.
template <class Value>
Status take(std::string_view option, Result<Value> result, Value& into) {
  if (!result.ok())
    return Status(Code::invalid_argument, Scope::request, std::string(option) + ": " + result.status().message());
  into = std::move(*result);
  return {};
}

// Errors: invalid_argument when `words` has `flag` together with one of `excluded`. Options that launchers set through
// the environment do not count.
Status check_not_beside(std::string_view flag, std::span<const std::string_view> excluded,
                        std::span<const char* const> words);

}  // namespace railweave::perf
