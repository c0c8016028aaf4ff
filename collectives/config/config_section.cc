#include "collectives/config/config_section.h"

#include <algorithm>

namespace railweave::collectives {
namespace {

constexpr std::size_t kAlgorithmsBytesMax = 200;
constexpr std::size_t kScheduleBytesMax = 40;

bool parse_algorithms(std::string_view text, Config& config) {
  config.of<CollectivesConfig>().algorithms = text;
  return text.size() <= kAlgorithmsBytesMax && std::ranges::all_of(text, is_graphic_ascii);
}

bool parse_schedule(std::string_view text, Config& config) {
  config.of<CollectivesConfig>().schedule = text;
  return !text.empty() && text.size() <= kScheduleBytesMax && std::ranges::all_of(text, is_graphic_ascii);
}

constexpr Setting kSettings[] = {
    {.name = "RAILWEAVE_ALGO",
     .default_meaning = "the cheapest by what the ranks measured",
     .help = "Algorithms of collective operations, e.g. `ring`, or `all_reduce=direct,broadcast=chain`. Rank 0's value "
             "counts for all ranks.",
     .form = "names of algorithms without spaces, at most 200 characters",
     .parse_text = parse_algorithms,
     .text_of = [](const Config& c) { return c.of<CollectivesConfig>().algorithms; }},
    {.name = "RAILWEAVE_SCHEDULE",
     .help =
         "How many collective operations of a process may move bytes at once. `off`: all of them. `window:2`: so many "
         "operations. `window:64M`: as many as have so many bytes. `auto` tries windows and keeps "
         "the one with the shortest steps. Rank 0's value counts for all ranks of a group.",
     .form = "off, auto, window:N or window:BYTES",
     .parse_text = parse_schedule,
     .text_of = [](const Config& c) { return c.of<CollectivesConfig>().schedule; }},
};

constexpr ConfigSection kSection{
    .title = "Collectives",
    .about = "Read by the torch backend and the perf programs. The NCCL plugin ignores them.",
    .settings = kSettings};

}  // namespace

void register_config() { register_config_section(kSection); }

}  // namespace railweave::collectives
