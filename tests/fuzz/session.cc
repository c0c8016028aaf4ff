// Fuzzes SessionProtocol: any frames from a peer, between any calls of the session's owner.
#include "tests/fuzz/check.h"
#include "tests/fuzz/session_world.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  railweave::fuzz::SessionWorld(railweave::fuzz::Input(data, size)).run();
  return 0;
}
