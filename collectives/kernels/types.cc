#include "collectives/kernels/types.h"

#include <array>

namespace railweave::collectives {
namespace {

enum class Kind : std::uint8_t { integer, real, complex, moved, boolean };

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
  std::size_t partial_bytes;
  Kind kind;
};

// Rows are in the order of DataType.
constexpr std::array<TypeRow, kDataTypes> kTypes{{
    {"int8", 1, 1, Kind::integer},
    {"uint8", 1, 1, Kind::integer},
    {"int16", 2, 2, Kind::integer},
    {"uint16", 2, 2, Kind::integer},
    {"int32", 4, 4, Kind::integer},
    {"uint32", 4, 4, Kind::integer},
    {"int64", 8, 8, Kind::integer},
    {"uint64", 8, 8, Kind::integer},
    {"float16", 2, 4, Kind::real},
    {"bfloat16", 2, 4, Kind::real},
    {"float32", 4, 4, Kind::real},
    {"float64", 8, 8, Kind::real},
    {"complex64", 8, 8, Kind::complex},
    {"complex128", 16, 16, Kind::complex},
    {"float8_e4m3", 1, 1, Kind::moved},
    {"float8_e5m2", 1, 1, Kind::moved},
    {"bool", 1, 1, Kind::boolean},
}};
static_assert(std::size_t(DataType::boolean) + 1 == kDataTypes);

constexpr std::array<std::string_view, kReductions> kReductionNames{"sum",  "avg", "prod", "min",       "max",
                                                                    "band", "bor", "bxor", "premul_sum"};
static_assert(std::size_t(Reduction::premul_sum) + 1 == kReductions);

const TypeRow& row(DataType type) { return kTypes[std::size_t(type)]; }

}  // namespace

std::size_t size_bytes(DataType type) { return row(type).bytes; }

std::size_t partial_size_bytes(DataType type) { return row(type).partial_bytes; }

std::string_view name(DataType type) { return row(type).name; }

std::string_view name(Reduction reduction) { return kReductionNames[std::size_t(reduction)]; }

bool supports(DataType type, Reduction reduction) {
  const Kind kind = row(type).kind;
  if (kind == Kind::moved) return false;
  switch (reduction) {
    case Reduction::sum: return true;
    case Reduction::avg:
    case Reduction::premul_sum: return kind != Kind::boolean;
    case Reduction::prod:
    case Reduction::min:
    case Reduction::max: return kind != Kind::complex;
    case Reduction::band:
    case Reduction::bor:
    case Reduction::bxor: return kind == Kind::integer || kind == Kind::boolean;
  }
  return false;
}

}  // namespace railweave::collectives
