// What the options of several subcommands share.
#pragma once

namespace railweave::commands {

inline constexpr int kPidMax = 1 << 22;  // the kernel's own bound
inline constexpr const char* kStatsDirHelp =
    "where processes keep their sockets (default: RAILWEAVE_STATS_DIR or /tmp)";

}  // namespace railweave::commands
