#include "collectives/fingerprint.h"

#include <fmt/core.h>

#include "collectives/schedule/algorithm_choice.h"

namespace railweave::collectives {
namespace {

constexpr Fingerprint kNumberMask = 0xffffff;

}  // namespace

Fingerprint fingerprint(const Call& call, std::uint64_t number) {
  const Operation operation = call.problem.operation;
  Fingerprint bits = Fingerprint(operation) + 1;
  if (operation != Operation::barrier) bits |= Fingerprint(call.how.type) << 8;
  if (reduces(operation)) bits |= Fingerprint(call.how.reduction) << 16;
  if (has_root(operation)) bits |= Fingerprint(std::uint16_t(call.problem.root)) << 24;
  return bits | (number & kNumberMask) << 40;
}

std::string described(Fingerprint bits) {
  const int operation = int(bits & 0xff) - 1, type = int(bits >> 8 & 0xff), reduction = int(bits >> 16 & 0xff);
  if (operation < 0 || operation > int(Operation::barrier) || type >= kDataTypes || reduction >= kReductions)
    return "something else";
  const auto o = Operation(operation);
  std::string text(name(o));
  if (o != Operation::barrier) text += fmt::format(" of {}", name(DataType(type)));
  if (reduces(o)) text += fmt::format(" ({})", name(Reduction(reduction)));
  if (has_root(o)) text += fmt::format(", root {}", bits >> 24 & 0xffff);
  return text;
}

std::string difference(Fingerprint theirs, Fingerprint ours) {
  if (theirs << 24 != ours << 24) return fmt::format("{}, not {}", described(theirs), described(ours));
  return fmt::format("operation {} of the group, not operation {}: their calls before it differed", number_of(theirs), number_of(ours));
}

std::string mismatch(int theirs, int ours, const std::string& how) {
  return fmt::format("rank {} does not do the same operation as rank {}: {}", theirs, ours, how);
}

}  // namespace railweave::collectives
