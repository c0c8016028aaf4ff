#include "tests/nccl/scenarios.h"

namespace railweave::nccl_test {

const std::vector<NamedScenario>& standard_scenarios() {
  static const std::vector<NamedScenario> kScenarios{
      {"ring_window_4_x_1_mib", {.messages = 48, .slot_bytes = 1 * MiB, .depth = 4}},
      {"p2p_window_8_x_128_kib", {.messages = 128, .slot_bytes = 128 * KiB, .depth = 8, .seed = 2}},
      {"both_ways", {.comms = 2, .both_ways = true, .messages = 32, .slot_bytes = 512 * KiB, .depth = 8, .seed = 3}},
      {"empty_and_tiny_messages",
       {.comms = 2,
        .both_ways = true,
        .messages = 400,
        .slot_bytes = 4 * KiB,
        .depth = 8,
        .sizes = Sizes::tiny,
        .seed = 4}},
      {"shorter_than_the_receive",
       {.messages = 64, .slot_bytes = 64 * KiB, .depth = 8, .sizes = Sizes::shorter, .seed = 5}},
      {"random_sizes",
       {.comms = 3,
        .both_ways = true,
        .messages = 60,
        .slot_bytes = 700'001,
        .depth = 5,
        .sizes = Sizes::random,
        .seed = 6}},
      {"read_while_landing",
       {.messages = 64,
        .slot_bytes = 614'400,
        .depth = 8,
        .sizes = Sizes::random,
        .optional_completion = true,
        .seed = 7}},
      {"sixty_four_comms",
       {.comms = 32,
        .both_ways = true,
        .messages = 24,
        .slot_bytes = 64 * KiB,
        .depth = 4,
        .sizes = Sizes::random,
        .seed = 8}},
  };
  return kScenarios;
}

}  // namespace railweave::nccl_test
