// Numbers in columns of a fixed width.
#pragma once

#include <string>

namespace railweave::perf::collective {

// Formats `value` at least `width` wide: with two decimals if they fit, else with one, else with none, else as a power
// of ten.
std::string fitted_number(double value, int width);

}  // namespace railweave::perf::collective
