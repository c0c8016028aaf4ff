#include "collective/element_names.h"

namespace railweave::perf::collective {
namespace {

template <class Value>
struct Named {
  Value value;
  std::string_view name;
  bool listed;  // nccl-tests has it, so "all" includes it
};

constexpr Named<DataType> kTypes[] = {
    {DataType::int8, "int8", true},
    {DataType::uint8, "uint8", true},
    {DataType::int32, "int32", true},
    {DataType::uint32, "uint32", true},
    {DataType::int64, "int64", true},
    {DataType::uint64, "uint64", true},
    {DataType::float16, "half", true},
    {DataType::float32, "float", true},
    {DataType::float64, "double", true},
    {DataType::bfloat16, "bfloat16", true},
    {DataType::float8_e4m3, "f8e4m3", true},
    {DataType::float8_e5m2, "f8e5m2", true},
    {DataType::int16, "int16", false},
    {DataType::uint16, "uint16", false},
    {DataType::complex64, "complex64", false},
    {DataType::complex128, "complex128", false},
    {DataType::boolean, "bool", false},
};

constexpr Named<Reduction> kReductionNames[] = {
    {Reduction::sum, "sum", true},    {Reduction::prod, "prod", true}, {Reduction::max, "max", true},
    {Reduction::min, "min", true},    {Reduction::avg, "avg", true},   {Reduction::premul_sum, "mulsum", true},
    {Reduction::band, "band", false}, {Reduction::bor, "bor", false},  {Reduction::bxor, "bxor", false},
};

template <class Value, std::size_t n>
std::string_view name_of(const Named<Value> (&table)[n], Value value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

template <class Value, std::size_t n>
std::string names(const Named<Value> (&table)[n]) {
  std::string text;
  for (const auto& entry : table) text += std::string(entry.name) + ", ";
  return text + "all";
}

template <class Value, std::size_t n>
Result<std::vector<Value>> find(const Named<Value> (&table)[n], std::string_view name) {
  std::vector<Value> found;
  for (const auto& entry : table) {
    if (name == "all" ? entry.listed : name == entry.name) found.push_back(entry.value);
  }
  if (!found.empty()) return found;
  return Status(Code::invalid_argument, Scope::request, "'" + std::string(name) + "' is none of " + names(table));
}

}  // namespace

std::string_view table_name(DataType type) { return name_of(kTypes, type); }
std::string_view table_name(Reduction reduction) { return name_of(kReductionNames, reduction); }
Result<std::vector<DataType>> types_named(std::string_view name) { return find(kTypes, name); }
Result<std::vector<Reduction>> reductions_named(std::string_view name) { return find(kReductionNames, name); }
std::string type_names() { return names(kTypes); }
std::string reduction_names() { return names(kReductionNames); }

}  // namespace railweave::perf::collective
