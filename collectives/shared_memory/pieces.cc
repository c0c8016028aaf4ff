#include "collectives/shared_memory/pieces.h"

#include <algorithm>

namespace railweave::collectives {
namespace {

// Bytes of output between which contributions may be offered (measured, see docs/internals/shm_exchange.md). Reading an
// offer costs kernel time for every page, and the offering rank waits for its readers. When much of the data has left
// the caches, the copy is not the main cost.
constexpr std::size_t kOfferedMin = 512 * KiB, kOfferedEnd = 8 * MiB;
constexpr std::size_t kStreamedMin = 8 * MiB;

static_assert(kPostedMax * kPiecesRanksMax <= kPostedByAllMax);

std::size_t elements_of_piece(const Problem& p) { return kPostedMax / p.element_bytes; }

}  // namespace

std::size_t pieces(const Call& call) {
  if (fits_exchange(call)) return 1;
  const Problem& p = call.problem;
  const bool divides = p.operation == Operation::all_gather || p.operation == Operation::all_reduce;
  if (!divides || p.ranks > kPiecesRanksMax) return 0;
  const std::size_t most = *std::ranges::max_element(p.counts), each = elements_of_piece(p);
  return (most + each - 1) / each;
}

Part piece(const Call& call, std::size_t index) {
  const std::size_t each = elements_of_piece(call.problem);
  return {index * each, each, call.problem.operation == Operation::all_gather && call.output_bytes() >= kStreamedMin};
}

bool may_be_offered(const Call& call) {
  const std::size_t bytes = call.output_bytes();
  return call.problem.operation == Operation::all_gather && pieces(call) > 1 && bytes >= kOfferedMin &&
         bytes < kOfferedEnd;
}

}  // namespace railweave::collectives
