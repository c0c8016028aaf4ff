// Fuzzes the reader of a pod's network status.
#include "discovery/network_status.h"

#include <string_view>

#include "tests/fuzz/check.h"

using railweave::fuzz::check;
using namespace railweave;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Result<discovery::PodNetworks> networks = discovery::parse_network_status(text);
  if (!networks.ok()) {
    check(networks.status().code() == Code::invalid_config, "the text is to blame");
    check(networks.status().message().size() < 200, "a message for people, whatever was found");
    return 0;
  }
  for (const auto& names : {networks->cluster, networks->additional})
    for (const std::string& name : names) check(!name.empty() && name.size() <= 15, "a name of Linux");
  return 0;
}
