// The work of one rank in a step of FSDP, equal on all ranks (format: docs/guide/replay.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// A unit of FSDP: parameters that are gathered, and gradients that are reduced, in one operation.
struct Layer {
  std::string name;
  std::size_t gather_bytes = 0;  // parts of all ranks together
  std::size_t reduce_bytes = 0;
  Nanos forward{}, backward{};  // of the device, timed alone
  bool kept = false;            // gathered once: kept from forward to backward
};

struct Trace {
  std::string name;
  std::size_t resident_bytes = 0;  // on the device, all the time
  Nanos optimizer{};
  std::vector<Layer> layers;  // in the order of forward; at least one

  Nanos computing() const;  // all pieces one after the other, without the optimizer
  std::size_t largest_gather() const;
};

// Errors: invalid_argument, naming `where`, the layer and the key.
Result<Trace> parse_trace(const std::string& text, const std::string& where);
// Errors: those of parse_trace(), naming the path; system if the file cannot be read.
Result<Trace> read_trace(const std::string& path);
// Errors: invalid_argument if read_trace() would refuse the trace; those of write_output_file().
Status write_trace(const Trace& trace, const std::string& path);
std::string trace_text(const Trace& trace);

}  // namespace railweave::perf::fsdp_replay
