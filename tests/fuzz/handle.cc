// Fuzzes decode_handle(): the 128 bytes of a handle, which another library passed on.
#include "engine/connect/handle.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "tests/fuzz/check.h"

using railweave::fuzz::check;
using namespace railweave;
using namespace railweave::engine;

// The first byte's lowest bit: replace the CRC by the right one.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr std::size_t kCrcAt = 8;
  Handle handle{};
  std::memcpy(handle.data(), data + 1, std::min(size - 1, handle.size()));
  if (data[0] & 1) {
    std::memset(handle.data() + kCrcAt, 0, 4);
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(handle)).first(kHandleFixedBytes));
    std::memcpy(handle.data() + kCrcAt, &crc, 4);
  }
  Result<HandleContent> content = decode_handle(handle);
  if (!content.ok()) {
    check(content.status().code() == Code::invalid_argument, "a bad handle is the caller's argument");
    check(!content.status().message().empty(), "and the message says what is wrong with it");
    return 0;
  }
  check(!content->addresses.empty() && content->addresses.size() <= kHandleAddresses, "one to four addresses");
  Result<HandleContent> again = decode_handle(encode_handle(*content));
  check(again.ok(), "what was taken can be handed on");
  check(again->instance == content->instance && again->listener == content->listener, "the same listener");
  check(again->addresses.size() == content->addresses.size(), "at the same addresses");
  return 0;
}
