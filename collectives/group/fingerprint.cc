#include "collectives/group/fingerprint.h"

#include <fmt/core.h>

#include "collectives/schedule/algorithm_choice.h"

namespace railweave::collectives {
namespace {

// A field's lowest bit and number of bits.
struct Field {
  int begin, bits;
  constexpr Fingerprint mask() const { return (Fingerprint{1} << bits) - 1; }
  constexpr Fingerprint put(std::uint64_t value) const { return (value & mask()) << begin; }
  constexpr std::uint64_t of(Fingerprint print) const { return print >> begin & mask(); }
};
constexpr Field kOperation{0, 4}, kType{4, 5}, kReduction{9, 4}, kRoot{13, 14}, kCounts{27, 17}, kNumber{44, 20};
static_assert(kOperations < 1 << kOperation.bits && kDataTypes <= 1 << kType.bits &&
              kReductions <= 1 << kReduction.bits);

constexpr std::uint64_t kPrime = 0x100000001b3;  // FNV-1a's

Fingerprint fingerprint_of(const Call& call, std::uint64_t number, std::uint64_t counts) {
  const Operation operation = call.problem.operation;
  Fingerprint bits = kOperation.put(std::uint64_t(operation) + 1) | kNumber.put(number);
  if (operation != Operation::barrier) bits |= kType.put(std::uint64_t(call.how.type));
  if (reduces(operation)) bits |= kReduction.put(std::uint64_t(call.how.reduction));
  if (has_root(operation)) bits |= kRoot.put(std::uint64_t(call.problem.root));
  const std::uint64_t hash = (counts ^ call.hints.part) * kPrime;
  return bits | kCounts.put(hash ^ hash >> 17 ^ hash >> 34 ^ hash >> 51);
}

}  // namespace

std::uint64_t hash_of(std::span<const std::size_t> counts) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::size_t count : counts) hash = (hash ^ count) * kPrime;
  return hash;
}

Fingerprint fingerprint(const Call& call, std::uint64_t number) { return fingerprint_of(call, number, 0); }

Fingerprint fingerprint_with_counts(const Call& call, std::uint64_t number) {
  const bool alike = call.problem.operation != Operation::all_to_all || call.problem.uniform;
  return fingerprint_of(call, number, alike ? hash_of(call.problem.counts) : 0);
}

bool differ_in_more_than_counts(Fingerprint a, Fingerprint b) { return ((a ^ b) & ~kCounts.put(kCounts.mask())) != 0; }

std::uint64_t counts_of(Fingerprint print) { return kCounts.of(print); }

std::string described(Fingerprint print) {
  const int operation = int(kOperation.of(print)) - 1, type = int(kType.of(print)),
            reduction = int(kReduction.of(print));
  if (operation < 0 || operation > int(Operation::barrier) || type >= kDataTypes || reduction >= kReductions)
    return "something else";
  const auto o = Operation(operation);
  std::string text(name(o));
  if (o != Operation::barrier) text += fmt::format(" of {}", name(DataType(type)));
  if (reduces(o)) text += fmt::format(" ({})", name(Reduction(reduction)));
  if (has_root(o)) text += fmt::format(", root {}", kRoot.of(print));
  return text;
}

std::string difference(Fingerprint theirs, Fingerprint ours) {
  if (!differ_in_more_than_counts(theirs, ours)) {
    const bool bytes = DataType(kType.of(ours)) == DataType::uint8 && !reduces(Operation(kOperation.of(ours) - 1));
    return fmt::format("{} with other counts{}", described(theirs),
                       bytes ? ", or of other elements that go as bytes" : "");
  }
  const Fingerprint but_number = ~(kNumber.put(kNumber.mask()) | kCounts.put(kCounts.mask()));
  if (((theirs ^ ours) & but_number) != 0) return fmt::format("{}, not {}", described(theirs), described(ours));
  return fmt::format("operation {} of the group, not operation {}: their calls before it differed", number_of(theirs),
                     number_of(ours));
}

std::string mismatch(int theirs, int ours, const std::string& how) {
  return fmt::format("rank {} does not do the same operation as rank {}: {}", theirs, ours, how);
}

}  // namespace railweave::collectives
