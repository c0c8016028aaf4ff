// What rank 0 says of a run: the table on stdout, row by row, and the same as JSON (-J).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collective/operation.h"
#include "collective/table.h"

namespace railweave::perf::collective {

// Whether results as JSON could go to `path`; for before the ranks meet. Errors name it.
Status check_json_path(const std::string& path);

// Threads: one.
class Reporter {
 public:
  Reporter(const Operation& operation, const Options& options, std::vector<std::string> command);
  Reporter(Reporter&&) = delete;
  // A claimed file that nothing was written to goes.
  ~Reporter();

  // Errors: the JSON that was asked for cannot be written; better known before anything is measured.
  Status claim_json_file();
  // `reduced`: the largest size is what memory has room for, and less than what was asked for.
  void begin(const std::vector<DeviceEntry>& devices, bool reduced = false);
  void row(const Row& row);
  void measured(const Measured& measured, bool in_place);
  void row_end();
  // Errors: the JSON could not be written.
  Status end(const Summary& summary);

 private:
  const Operation& operation_;
  const Options& options_;
  std::string json_path_;  // empty: none
  bool claimed_ = false;   // a file of that name is ours, and empty
  nlohmann::ordered_json document_;
};

}  // namespace railweave::perf::collective
