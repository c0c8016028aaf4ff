#include "collectives/shared_memory/offering.h"

#include <algorithm>

namespace railweave::collectives {
namespace {

constexpr double kPsPerNs = 1000;

}  // namespace

bool Offering::wanted() const {
  for (int r = 0; r < exchange_.ranks(); ++r)
    if (r != exchange_.rank() && exchange_.copying(r).wants_offers) return true;
  return false;
}

void Offering::posted(std::size_t bytes, Nanos took) {
  put_.sample(bytes, took);
  announce();
}

void Offering::copied(int from, std::size_t bytes, Nanos took) {
  choice_.on_writer_speed(double(exchange_.copying(from).put_cost_ps) / kPsPerNs);
  choice_.sample(false, bytes, took);
  announce();
}

void Offering::read(std::size_t bytes, Nanos took) {
  choice_.sample(true, bytes, took);
  announce();
}

// Announces larger changes only, because a write takes the cache line of `read` from the other ranks.
void Offering::announce() {
  const ShmExchange::Copying now{choice_.wants_fetch(), std::uint32_t(std::min(put_.ns_per_byte() * kPsPerNs, 1e9))};
  if (now.wants_offers == reported_.wants_offers && now.put_cost_ps / 16 == reported_.put_cost_ps / 16) return;
  reported_ = now;
  exchange_.publish_copying(now);
}

}  // namespace railweave::collectives
