// A fingerprint describes an operation in 64 bits. Every message of the operation carries the fingerprint as its tag
// (railweave/endpoint.h), so that ranks whose calls differ notice, and can name both calls.
//
//   0 operation + 1 (4 bits) | 4 type (5) | 9 reduction (4) | 13 root (14) | 27 counts (17) | 44 number (20)
//
// Counts are hashed together with Hints::part. The number counts this rank's operations of one priority, without
// messages. The number distinguishes the due message from an earlier one that the receiver never took. A rank that
// leaves out an operation is noticed if its next operation differs in kind or size.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "collectives/group/call.h"

namespace railweave::collectives {

using Fingerprint = std::uint64_t;

// Without counts, which shared memory compares separately (shared_memory/contribution.h).
Fingerprint fingerprint(const Call& call, std::uint64_t number);
// With the counts that must be equal on every rank: all but those of an all_to_all_v.
Fingerprint fingerprint_with_counts(const Call& call, std::uint64_t number);
constexpr std::uint64_t number_of(Fingerprint fingerprint) { return fingerprint >> 44; }  // the lowest 20 bits
std::uint64_t counts_of(Fingerprint fingerprint);  // the hash of counts and Hints::part
// True if the two differ in more than their counts.
bool differ_in_more_than_counts(Fingerprint a, Fingerprint b);
// A hash of the counts, one by one.
std::uint64_t hash_of(std::span<const std::size_t> counts);

// Returns "all_reduce of float32 (sum), not broadcast of int8, root 0". Where only the numbers differ: "operation 4 of
// the group, not operation 6: their calls before it differed". Where only the counts differ: "all_reduce of float32
// (sum) with other counts", and for an operation on bytes also ", or of other elements that go as bytes".
// REQUIRES: `theirs` differs from `ours`.
std::string difference(Fingerprint theirs, Fingerprint ours);
// Returns "broadcast of int8, root 0"; "something else" for a fingerprint of no operation.
std::string described(Fingerprint fingerprint);
// Returns "rank 1 does not do the same operation as rank 0: HOW", a sentence that is true on every rank.
std::string mismatch(int theirs, int ours, const std::string& how);

}  // namespace railweave::collectives
