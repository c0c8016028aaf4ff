// Command lines: how a program ends because of one, and what CLI11 cannot check.
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

// Nothing: go on. Else what main() returns: 0 after --help (1 when it could not be written), 2 for a line that means
// nothing, said in one line on stderr.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

// The same for the options that `add_options` adds. --help begins with `about`.
std::optional<int> parse_command_line(const std::string& about, const std::function<void(CLI::App&)>& add_options,
                                      int argc, char** argv);

// The value of `result`, or its error, said of `option`.
template <class Value>
Status take(std::string_view option, Result<Value> result, Value& into) {
  if (!result.ok())
    return Status(Code::invalid_argument, Scope::request, std::string(option) + ": " + result.status().message());
  into = std::move(*result);
  return {};
}

// Errors: invalid_argument, when a word is `flag` and another one of `excluded`. What launchers set in the environment
// does not count.
Status check_not_beside(std::string_view flag, std::span<const std::string_view> excluded,
                        std::span<const char* const> words);

}  // namespace railweave::perf
