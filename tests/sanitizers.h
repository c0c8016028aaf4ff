// Which sanitizers this build has. CMakeLists.txt defines RW_ASAN and RW_TSAN from RAILWEAVE_SANITIZE; a compiler's own
// macros differ between g++ and clang.
#pragma once

namespace railweave {

#ifdef RW_ASAN
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif

#ifdef RW_TSAN
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif

constexpr bool kSanitized = kAsan || kTsan;

}  // namespace railweave
