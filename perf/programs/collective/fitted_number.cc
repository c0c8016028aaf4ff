#include "collective/fitted_number.h"

#include <fmt/core.h>

namespace railweave::perf::collective {

std::string fitted_number(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
    if (int(text.size()) <= width) return text;
  }
  return fmt::format("{:{}.{}e}", value, width, width >= 7 ? 1 : 0);
}

}  // namespace railweave::perf::collective
