// The table on stdout, letter for letter that of nccl-tests, so that its parsers read ours.
// docs/internals/perf_programs.md gives the meaning of columns that speak of GPUs there. Functions return texts, so
// that tests see what people see.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/options.h"

namespace railweave::perf::collective {

// One rank's line in the list of devices.
struct DeviceEntry {
  int rank = 0, group = 0, pid = 0;
  std::string host;
  int device = 0;
  std::string bus;  // "0000:3b:00": PCI domain, bus, device
  std::string name;
};

// Times of single iterations over all ranks, in microseconds.
struct IterationTimes {
  double min_us = 0, max_us = 0, mean_us = 0, p50_us = 0, p95_us = 0, p99_us = 0, deviation_us = 0;
  std::vector<double> times_us;
  double variation_percent() const { return mean_us > 0 ? deviation_us / mean_us * 100 : 0; }
};

// Half a row: out of place, or in place.
struct Measured {
  double time_us = 0, algbw = 0, busbw = 0;  // GB/s
  std::optional<std::int64_t> wrong;         // elements; nothing: not checked
  std::optional<IterationTimes> iterations;  // with -I
};

struct Row {
  std::size_t bytes = 0, count = 0;
  std::string type, reduction;
  int root = -1;
};

struct Summary {
  std::int64_t failures = 0;  // ranks' checks that found wrong data
  double mean_busbw = 0;
  double min_bandwidth = -1;
  bool slow() const { return min_bandwidth != -1 && mean_busbw < min_bandwidth * 0.9; }
  bool good() const { return failures == 0 && !slow(); }
};

std::string banner_text(const Options& options, std::string_view program);
std::string device_text(const DeviceEntry& entry);
std::string header_text(const Options& options);
std::string row_text(const Row& row);
std::string measured_text(const Measured& measured);
// Ends a row, with -S by the time `now`.
std::string row_end_text(const Options& options, const std::string& now);
std::string footer_text(const Summary& summary, std::string_view program);

// Returns local time as "2026-11-21 10:37:32".
std::string time_text();

}  // namespace railweave::perf::collective
