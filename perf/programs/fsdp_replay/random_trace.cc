#include "fsdp_replay/random_trace.h"

#include <cmath>
#include <random>
#include <string>

#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

constexpr double kLeastBytes = 64 << 10, kMostBytes = 1 << 30;

// Draws from a standard generator without the standard distributions, which differ between libraries.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : bits_(seed) {}
  double between(double least, double most) {
    return least + (most - least) * double(bits_() >> 11) / double(1ull << 53);
  }
  // Uniform in the logarithm.
  double across(double least, double most) { return std::exp(between(std::log(least), std::log(most))); }
  bool in(double share) { return between(0, 1) < share; }

 private:
  std::mt19937_64 bits_;
};

}  // namespace

Trace random_trace(std::uint64_t seed, Rate wire) {
  Chance chance(seed);
  Trace trace;
  trace.name = "random " + std::to_string(seed);
  const int layers = int(chance.across(3, 41));
  const double usual_bytes = chance.across(kLeastBytes, kMostBytes / 4);
  const double of_copy = chance.across(0.25, 20);
  const double gradient_bytes = chance.in(0.3) ? 2 : 1;  // float32 gradients of bfloat16 parameters
  const double backward = chance.in(0.3) ? 3 : 2;        // 3: with recomputation
  for (int i = 0; i < layers; ++i) {
    const double bytes = chance.in(0.8) ? usual_bytes : chance.across(kLeastBytes, kMostBytes);
    const double forward_s = bytes / wire.bytes_per_s * of_copy / (1 + backward) * chance.between(0.5, 1.5);
    Layer layer;
    layer.name = "layer " + std::to_string(i);
    layer.gather_bytes = std::size_t(bytes);
    layer.reduce_bytes = std::size_t(bytes * gradient_bytes);
    layer.forward = from_seconds(forward_s);
    layer.backward = from_seconds(forward_s * backward);
    trace.layers.push_back(layer);
  }
  return trace;
}

}  // namespace railweave::perf::fsdp_replay
