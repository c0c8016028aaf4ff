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
  publish();
}

void Offering::copied(int from, std::size_t bytes, Nanos took) {
  choice_.set_writer_cost(double(exchange_.copying(from).put_cost_ps) / kPsPerNs);
  choice_.sample(false, bytes, took);
  publish();
}

void Offering::read(std::size_t bytes, Nanos took) {
  choice_.sample(true, bytes, took);
  publish();
}

// Announces larger changes only, because a write takes the cache line of `read` from the other ranks.
void Offering::publish() {
  const ShmExchange::Copying now{choice_.wants_fetch(), std::uint32_t(std::min(put_.ns_per_byte() * kPsPerNs, 1e9))};
  if (now.wants_offers == published_.wants_offers && now.put_cost_ps / 16 == published_.put_cost_ps / 16) return;
  published_ = now;
  exchange_.publish_copying(now);
}

}  // namespace railweave::collectives
