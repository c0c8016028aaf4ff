// Names of types and reductions, as nccl-tests has them, and a few additional ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/kernels/types.h"
#include "railweave/status.h"

namespace railweave::perf::collective {

using collectives::DataType;
using collectives::Reduction;

// "float", "half"; "sum", "mulsum".
std::string_view table_name(DataType type);
std::string_view table_name(Reduction reduction);

// Returns the one of this name; for "all" those that nccl-tests has. Errors: invalid_argument, listing the names.
Result<std::vector<DataType>> types_named(std::string_view name);
Result<std::vector<Reduction>> reductions_named(std::string_view name);

// Lists the names for --help and messages: "int8, uint8, ..., all".
std::string type_names();
std::string reduction_names();

}  // namespace railweave::perf::collective
