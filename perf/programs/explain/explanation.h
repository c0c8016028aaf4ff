// The verdict on a job, as text for people and as JSON. The text has no control characters but line ends: dumps may
// come from anywhere.
// Threads: any; no state.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "explain/job.h"
#include "explain/verdict.h"

namespace railweave::explain {

inline constexpr std::size_t kRanksShown = 32;  // lines of the table, and ranks in a sentence

// Returns the sentences of the verdict, and a table of the ranks: the culprits, then the others, kRanksShown in all.
std::string explanation_text(const Job& job, const Verdict& verdict);

// Returns {"cause", "culprits", "groups", "text", "ranks": [{"rank", "host", "pid", "operation", "group", "waits_for",
// "where"}], "without_dump", "left_out": [{"file", "why"}]}.
nlohmann::ordered_json explanation_json(const Job& job, const Verdict& verdict);

}  // namespace railweave::explain
