#include "net_perf/checksum.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <iterator>

namespace railweave::perf::net_perf {

std::string sha256(std::span<const std::byte> data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_Digest(data.data(), data.size(), digest, &length, EVP_sha256(), nullptr) != 1) return "";
  std::string hex;
  for (unsigned i = 0; i < length; ++i) fmt::format_to(std::back_inserter(hex), "{:02x}", digest[i]);
  return hex;
}

}  // namespace railweave::perf::net_perf
