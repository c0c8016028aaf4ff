// What one rank does in a step of FSDP, the same on all (docs/guide/replay.md has the format).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// A unit of FSDP: what is gathered, and reduced, at once.
struct Layer {
  std::string name;
  std::size_t gather_bytes = 0;  // of all ranks' parts together
  std::size_t reduce_bytes = 0;
  Nanos forward{}, backward{};  // of the device, timed alone
  bool kept = false;            // from forward to backward: gathered once
};

struct Trace {
  std::string name;
  std::size_t resident_bytes = 0;  // of the device, all the time
  Nanos optimizer{};
  std::vector<Layer> layers;  // in the order of forward; at least one

  Nanos computing() const;  // the pieces, one after the other; the optimizer's not
  std::size_t largest_gather() const;
};

// Errors: invalid_argument, naming `where`, the layer and the key.
Result<Trace> parse_trace(const std::string& text, const std::string& where);
// Errors: the same, naming the path; system, for a file that cannot be read.
Result<Trace> read_trace(const std::string& path);
// Errors: invalid_argument, for what read_trace() would refuse; write_output_file()'s.
Status write_trace(const Trace& trace, const std::string& path);
std::string trace_text(const Trace& trace);

}  // namespace railweave::perf::fsdp_replay
