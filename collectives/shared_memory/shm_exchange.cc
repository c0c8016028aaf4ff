#include "collectives/shared_memory/shm_exchange.h"

#include <algorithm>
#include <cstring>

namespace railweave::collectives {
namespace {

constexpr std::uint64_t kHashMask = 0x7fff'ffff;

}  // namespace

ShmExchange::ShmExchange(ShmMemory memory, int rank, int ranks)
    : memory_(std::move(memory)), rank_(rank), ranks_(ranks) {
  // Touches the first page of every slot now, so that the first operations need no page faults for them.
  for (int r = 0; r < ranks; ++r)
    for (std::uint64_t s = 0; s < ShmColumn::kSlots; ++s) {
      if (r == rank) slot(r, s).number.store(0, std::memory_order_relaxed);
      (void)slot(r, s).number.load(std::memory_order_relaxed);
    }
}

ShmColumn& ShmExchange::column(int rank) const { return reinterpret_cast<ShmColumn*>(memory_.data())[rank]; }

bool ShmExchange::has_room(std::uint64_t number) {
  if (number < read_by_all_ + ShmColumn::kSlots) return true;
  std::uint64_t least = UINT64_MAX;
  for (int r = 0; r < ranks_; ++r) least = std::min(least, column(r).read.load(std::memory_order_acquire));
  read_by_all_ = least;
  return number < read_by_all_ + ShmColumn::kSlots;
}

std::vector<int> ShmExchange::readers_of_slot(std::uint64_t number) const {
  std::vector<int> readers;
  for (int r = 0; r < ranks_; ++r)
    if (number >= column(r).read.load(std::memory_order_acquire) + ShmColumn::kSlots) readers.push_back(r);
  return readers;
}

void ShmExchange::post(std::uint64_t number, const Contribution& contribution) {
  ShmSlot& ours = slot(rank_, number);
  const std::size_t bytes = contribution.data.size();
  ours.number.store(0, std::memory_order_relaxed);
  // A reader that sees this fingerprint does not see the old number.
  ours.fingerprint.store(contribution.fingerprint, std::memory_order_release);
  ours.bytes = std::uint32_t(bytes) | (contribution.offered ? ShmSlot::kOffered : 0);
  ours.counts_hash = contribution.counts_hash;
  if (contribution.offered) {
    const auto address = reinterpret_cast<std::uint64_t>(contribution.data.data());
    std::memcpy(ours.in_line, &address, sizeof address);
  } else if (bytes > 0) {
    std::memcpy(bytes <= ShmSlot::kInLine ? ours.in_line : ours.beyond, contribution.data.data(), bytes);
  }
  ours.number.store(number + 1, std::memory_order_release);
}

bool ShmExchange::is_there(int rank, std::uint64_t number) const {
  return slot(rank, number).number.load(std::memory_order_acquire) == number + 1;
}

ShmExchange::Contribution ShmExchange::posted(int rank, std::uint64_t number) const {
  const ShmSlot& theirs = slot(rank, number);
  // One load: a faulty or hostile process may change the value meanwhile.
  const std::uint32_t announced_bytes = __atomic_load_n(&theirs.bytes, __ATOMIC_RELAXED);
  const std::size_t bytes = std::min<std::size_t>(announced_bytes & ~ShmSlot::kOffered, ShmSlot::kBytesMax);
  if ((announced_bytes & ShmSlot::kOffered) != 0) {
    const std::byte* there = nullptr;
    std::memcpy(&there, theirs.in_line, sizeof there);
    return {theirs.fingerprint.load(std::memory_order_relaxed), {there, bytes}, theirs.counts_hash, true};
  }
  return {theirs.fingerprint.load(std::memory_order_relaxed),
          {bytes <= ShmSlot::kInLine ? theirs.in_line : theirs.beyond, bytes},
          theirs.counts_hash,
          false};
}

// Uses a read-modify-write, which is ordered between the reads of the data and a withdrawal.
bool ShmExchange::stands(int rank, std::uint64_t number) {
  std::uint64_t expected = number + 1;
  return slot(rank, number).number.compare_exchange_strong(expected, expected, std::memory_order_acq_rel);
}

void ShmExchange::withdraw_offers() {
  for (ShmSlot& ours : column(rank_).slots)
    if ((ours.bytes & ShmSlot::kOffered) != 0) ours.number.exchange(0, std::memory_order_seq_cst);
}

Fingerprint ShmExchange::header(int rank, std::uint64_t number) const {
  const ShmSlot& theirs = slot(rank, number);
  if (!is_there(rank, number)) return 0;
  const Fingerprint found = theirs.fingerprint.load(std::memory_order_acquire);
  return theirs.number.load(std::memory_order_relaxed) == number + 1 ? found : 0;
}

void ShmExchange::done_with(std::uint64_t number) { column(rank_).read.store(number + 1, std::memory_order_release); }

void ShmExchange::publish_copying(const Copying& how) {
  column(rank_).wants_offers.store(how.wants_offers, std::memory_order_relaxed);
  column(rank_).put_cost_ps.store(how.put_cost_ps, std::memory_order_relaxed);
}

ShmExchange::Copying ShmExchange::copying(int rank) const {
  return {column(rank).wants_offers.load(std::memory_order_relaxed) != 0,
          column(rank).put_cost_ps.load(std::memory_order_relaxed)};
}

void ShmExchange::publish_issued(const Issued& call) {
  ShmColumn::Issued& place = issued_place(rank_, call.fingerprint);
  const std::uint64_t what =
      announced_bytes(call.bytes) | std::uint64_t(call.counts_hash) << 32 | std::uint64_t(call.on_exchange) << 63;
  place.fingerprint.store(0, std::memory_order_relaxed);
  place.what.store(what, std::memory_order_release);  // a reader that sees this does not see the old fingerprint
  place.fingerprint.store(call.fingerprint, std::memory_order_release);
}

ShmExchange::Issued ShmExchange::issued(int rank, Fingerprint number) const {
  const ShmColumn::Issued& place = issued_place(rank, number);
  const Fingerprint found = place.fingerprint.load(std::memory_order_acquire);
  const std::uint64_t what = place.what.load(std::memory_order_acquire);
  if (place.fingerprint.load(std::memory_order_relaxed) != found || number_of(found) != number_of(number)) return {};
  return {found, what & kAnnouncedMax, std::uint32_t(what >> 32 & kHashMask), what >> 63 != 0};
}

}  // namespace railweave::collectives
