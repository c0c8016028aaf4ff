#include "collectives/fingerprint.h"

#include <fmt/core.h>

#include "collectives/schedule/algorithm_choice.h"

namespace railweave::collectives {
namespace {

constexpr Fingerprint kNumberMask = 0xffffff;

// Without its number.
std::string text_of(Fingerprint bits) {
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

}  // namespace

Fingerprint fingerprint(const Call& call, std::uint64_t number) {
  const Operation operation = call.problem.operation;
  Fingerprint bits = Fingerprint(operation) + 1;
  if (operation != Operation::barrier) bits |= Fingerprint(call.how.type) << 8;
  if (reduces(operation)) bits |= Fingerprint(call.how.reduction) << 16;
  if (has_root(operation)) bits |= Fingerprint(std::uint16_t(call.problem.root)) << 24;
  return bits | (number & kNumberMask) << 40;
}

std::string difference(Fingerprint there, Fingerprint here) {
  if (there << 24 != here << 24) return fmt::format("there it is {}; here it is {}", text_of(there), text_of(here));
  return fmt::format("there it is operation {}, here operation {}, of the group: their calls before it differed", there >> 40, here >> 40);
}

}  // namespace railweave::collectives
