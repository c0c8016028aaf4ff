// Rank 0's report of a run: the table on stdout, row by row, and the same as JSON (-J).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collective/operation.h"
#include "collective/table.h"

namespace railweave::perf::collective {

// Checks, before the ranks connect, whether JSON results could go to `path`. Errors name the path.
Status check_json_path(const std::string& path);

// Threads: one.
class Reporter {
 public:
  Reporter(const Operation& operation, const Options& options, std::vector<std::string> command);
  Reporter(Reporter&&) = delete;
  // Removes a claimed file that is still empty.
  ~Reporter();

  // Creates the JSON file before anything is measured. Errors: the file cannot be written.
  Status claim_json_file();
  // `reduced`: the largest size was lowered to what memory has room for.
  void begin(const std::vector<DeviceEntry>& devices, bool reduced = false);
  void row(const Row& row);
  void measured(const Measured& measured, bool in_place);
  void row_end();
  // Writes the JSON. Errors: the file cannot be written.
  Status end(const Summary& summary);

 private:
  const Operation& operation_;
  const Options& options_;
  std::string json_path_;  // empty: none
  bool claimed_ = false;   // the file of this name was made by this process and is empty
  nlohmann::ordered_json document_;
};

}  // namespace railweave::perf::collective
