// Fuzzes Config::parse(): the input is an environment, one NAME=value per line.
#include "railweave/config.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "tests/fuzz/check.h"

using railweave::Config;
using railweave::Result;
using railweave::fuzz::check;

namespace {

using Environment = std::map<std::string, std::string>;

void add(Environment& environment, std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals != line.npos) environment.emplace(line.substr(0, equals), line.substr(equals + 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Environment environment;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add(environment, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Result<Config> config = Config::parse(environment);
  if (!config.ok()) {
    check(config.status().code() == railweave::Code::invalid_config, "the configuration is to blame");
    check(config.status().message().size() <= 1024 * (environment.size() + 1),
          "a message for people, whatever was found");
    return 0;
  }
  check(config->lanes_per_rail >= 0 && config->lanes_per_rail <= 16, "lanes per rail");
  check(config->eager_limit_bytes <= 64 * railweave::KiB, "eager limit");
  check(config->ports.first <= config->ports.last, "port range");
  check(config->connect_timeout > railweave::Nanos(0), "connect timeout");
  check(config->peer_timeout > railweave::Nanos(0), "peer timeout");
  Environment written;
  for (const std::string& line : config->overrides()) add(written, line);
  Result<Config> again = Config::parse(written);
  check(again.ok(), "what the log says of a configuration can be set");
  check(again->overrides() == config->overrides(), "and means the same");
  return 0;
}
