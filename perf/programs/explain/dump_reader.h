// Reads dumps. Dumps may come from anywhere, so every bound is checked, and a wrong value is an error or is left out.
// Threads: any; no state.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "explain/dump.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::explain {

inline constexpr std::size_t kFileBytesMost = 256 * KiB;  // as the writer's kDumpBytesMost (torch_ext/csrc/dump_text.h)
inline constexpr int kDepthMost = 16;                     // brackets
inline constexpr std::size_t kRanksMost = 65536;          // of a group; of a job; and files of a job
inline constexpr std::size_t kPlacesMost =
    64 * kRanksMost;  // ranks of a dump's groups together: its groups may share all

// Errors: system (cannot be read); invalid_argument (no regular file, too large, or as parse_dump()).
Result<Dump> read_dump(const std::string& path);
// `where` names the dump in errors. Errors: invalid_argument (no JSON, too deep, no dump of this version).
Result<Dump> parse_dump(std::string_view text, const std::string& where);

}  // namespace railweave::explain
