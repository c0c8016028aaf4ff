// Rank and operation of a call: the beginning of every error about the call's own tensors.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace railweave::torch_ext {

struct Caller {
  const char* title;  // "railweave:all_reduce"
  int rank, ranks;
  const std::string* whose;  // " of group ...", or empty
  std::uint64_t number;      // number that the collective would have if it began now; 0: a message
};

// Prints "railweave:all_reduce number 4 at rank 1 of 2 of group ...".
inline std::ostream& operator<<(std::ostream& out, const Caller& caller) {
  out << caller.title;
  if (caller.number != 0) out << " number " << caller.number;
  return out << " at rank " << caller.rank << " of " << caller.ranks << *caller.whose;
}

}  // namespace railweave::torch_ext
