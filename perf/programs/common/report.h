// From two ranks' own figures to one result, one document, one table (docs/internals/perf.md has the schema).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

// Head of a document: schema, program, mode, command line, start time, machine; an empty "results".
nlohmann::json new_document(const std::string& program, const std::string& mode,
                            const std::vector<std::string>& command);

// One entry of "flows": what a receiver got over one connection.
nlohmann::json flow_entry(int from, int to, int index, const nlohmann::json& rail, std::uint64_t bytes, double seconds);

// Both ranks' entries ("flows" and "events" inside are lifted out) into a RESULT. `baseline_share`: of
// measure_background_share().
nlohmann::json merge_ranks(nlohmann::json rank0, nlohmann::json rank1, double baseline_share);

// What is no UTF-8 (names of files, words of the command line) is replaced.
std::string json_text(const nlohmann::json& document, int indent = -1);

// See output_file.h.
Status write_document(const std::string& path, const nlohmann::json& document);

// Tables for people, on stdout.
void print_throughput(const nlohmann::json& result);
// The results of a ping-pong, and its "summary": p50 and p99 by size.
void summarise_latency(nlohmann::json& document);

}  // namespace railweave::perf
