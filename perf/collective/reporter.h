// What rank 0 says of a run: the table on stdout, row by row, and the same as JSON (-J).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collective/operation.h"
#include "collective/table.h"

namespace railweave::perf::collective {

// Threads: one.
class Reporter {
 public:
  Reporter(const Operation& operation, const Options& options, std::vector<std::string> command);

  void begin(const std::vector<DeviceEntry>& devices);
  void row(const Row& row);
  void measured(const Measured& measured, bool in_place);
  void row_end();
  // Errors: the JSON could not be written.
  Status end(const Summary& summary);

 private:
  void claim_json_file();

  const Operation& operation_;
  const Options& options_;
  std::string json_path_;  // empty: none
  nlohmann::ordered_json document_;
};

}  // namespace railweave::perf::collective
