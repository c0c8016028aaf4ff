// What the messages of an operation say of it, so that ranks whose calls differ find out and can name both: 64 bits,
// which go with every message as its tag (railweave/endpoint.h).
//
//   0 operation + 1 (4 bits) | 4 type (5) | 9 reduction (4) | 13 root (14) | 27 counts (17) | 44 number (20)
//
// Counts are hashed, with which part of a larger operation it is (Hints::part). The number counts this rank's
// operations of one class (without messages): it tells a message that its receiver never took from the one that is due.
// A rank that leaves an operation out is found where what it does instead is another or of other size.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "collectives/group/call.h"

namespace railweave::collectives {

using Fingerprint = std::uint64_t;

// Without counts: for where they are compared beside (shared_memory/contribution.h).
Fingerprint fingerprint(const Call& call, std::uint64_t number);
// With those that every rank must have alike: all but an all_to_all_v's.
Fingerprint fingerprint_with_counts(const Call& call, std::uint64_t number);
constexpr std::uint64_t number_of(Fingerprint fingerprint) { return fingerprint >> 44; }  // its lowest 20 bits
// True: the two differ, and in more than their counts.
bool differ_in_more_than_counts(Fingerprint a, Fingerprint b);
// A hash of the counts, one by one.
std::uint64_t hash_of(std::span<const std::size_t> counts);

// "all_reduce of float32 (sum), not broadcast of int8, root 0"; where only the numbers differ "operation 4 of the
// group, not operation 6: their calls before it differed"; where only counts do "all_reduce of float32 (sum) with other
// counts", and where it moves bytes ", or of other elements that go as bytes".
// REQUIRES: they differ.
std::string difference(Fingerprint theirs, Fingerprint ours);
// "broadcast of int8, root 0"
std::string described(Fingerprint fingerprint);
// "rank 1 does not do the same operation as rank 0: HOW". Right on whichever rank it is read.
std::string mismatch(int theirs, int ours, const std::string& how);

}  // namespace railweave::collectives
