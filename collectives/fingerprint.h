// What the messages of an operation say of it, so that ranks whose calls differ find out and can name both: 64 bits, which go
// with every message as its tag (railweave/endpoint.h). Counts are not in it: they show as sizes that are not due.
//
//   0 operation + 1 (8 bits) | 8 type | 16 reduction | 24 root (16 bits) | 40 number (24 bits)
//
// The number counts this rank's operations of one class (without messages): it tells a message that its receiver never took
// from the one that is due. A rank that leaves an operation out is found where what it does instead is another or of other size.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/call.h"

namespace railweave::collectives {

using Fingerprint = std::uint64_t;

Fingerprint fingerprint(const Call& call, std::uint64_t number);
constexpr std::uint64_t number_of(Fingerprint fingerprint) { return fingerprint >> 40; }  // its lowest 24 bits

// "all_reduce of float32 (sum), not broadcast of int8, root 0", or where only the numbers differ "operation 4 of the group, not
// operation 6: their calls before it differed". REQUIRES: they differ.
std::string difference(Fingerprint theirs, Fingerprint ours);
// "broadcast of int8, root 0"
std::string described(Fingerprint fingerprint);
// "rank 1 does not do the same operation as rank 0: HOW". Right on whichever rank it is read.
std::string mismatch(int theirs, int ours, const std::string& how);

}  // namespace railweave::collectives
