// Combines the figures of two ranks into one result, one document and one table (schema: docs/internals/perf.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "railweave/status.h"

namespace railweave::perf {

// Makes the head of a document: schema, program, mode, command line, start time, machine, and empty "results".
nlohmann::json new_document(const std::string& program, const std::string& mode,
                            const std::vector<std::string>& command);

// Makes one entry of "flows": the bytes that a receiver got over one connection.
nlohmann::json flow_entry(int from, int to, int index, const nlohmann::json& rail, std::uint64_t bytes, double seconds);

// Merges the entries of both ranks into a result and moves their "flows" and "events" up into it. `baseline_share`: of
// measure_background_share().
nlohmann::json merge_ranks(nlohmann::json rank0, nlohmann::json rank1, double baseline_share);

// Replaces bytes that are no UTF-8, as file names and command-line words may have.
std::string json_text(const nlohmann::json& document, int indent = -1);

// Writes by write_output_file() (output_file.h).
Status write_document(const std::string& path, const nlohmann::json& document);

// Prints a table for people on stdout.
void print_throughput(const nlohmann::json& result);
// Prints the results of a ping-pong and adds their "summary": p50 and p99 by size.
void summarise_latency(nlohmann::json& document);

}  // namespace railweave::perf
