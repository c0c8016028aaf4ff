// What a fuzz target demands beyond "no crash". A failed check() ends the program: the fuzzer keeps the input, and
// ctest reports a failure.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace railweave::fuzz {

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace railweave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);
