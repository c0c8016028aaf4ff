// Traces and machines small enough to play by hand.
#pragma once

#include <gtest/gtest.h>

#include "fsdp_replay/made_trace.h"
#include "fsdp_replay/parameters.h"
#include "fsdp_replay/replay.h"
#include "fsdp_replay/trace.h"

namespace railweave::replay_test {

using perf::fsdp_replay::Layer;
using perf::fsdp_replay::LimiterKind;
using perf::fsdp_replay::Mode;
using perf::fsdp_replay::Outcome;
using perf::fsdp_replay::Parameters;
using perf::fsdp_replay::Setting;
using perf::fsdp_replay::Trace;
using std::chrono::milliseconds;

// A machine on which only computing and the wire take time. The wire has 1 GB/s, so 2 MB of two hosts take 1 ms.
inline Parameters tiny_machine() {
  Parameters p;
  p.memory_bytes = 1'000'000'000;
  p.ranks_per_host = 2;
  p.wire = p.within = Rate{1e9};
  p.segment_bytes = 100'000;
  p.backward_prefetch = 0;
  return p;
}

inline Trace tiny_trace(std::size_t layers, Nanos forward, Nanos backward) {
  Trace trace;
  trace.name = "tiny";
  for (std::size_t i = 0; i < layers; ++i) trace.layers.push_back({"layer", 2'000'000, 2'000'000, forward, backward});
  return trace;
}

inline Outcome play(const Trace& trace, const Setting& setting, const Parameters& parameters) {
  auto outcome = perf::fsdp_replay::replay(trace, setting, parameters);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : Outcome{};
}

inline Parameters committed_parameters() {
  auto parameters = perf::fsdp_replay::read_parameters(RAILWEAVE_REPLAY_PARAMETERS);
  EXPECT_TRUE(parameters.ok()) << parameters.status().message();
  return parameters.ok() ? *parameters : Parameters{};
}

inline Trace made(const std::string& model, double batch, int hosts, const Parameters& parameters) {
  auto trace = perf::fsdp_replay::make_trace(model, parameters.models.at(model), batch, hosts, parameters);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? *trace : Trace{};
}

}  // namespace railweave::replay_test
