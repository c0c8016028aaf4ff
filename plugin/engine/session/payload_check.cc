#include "engine/session/payload_check.h"

#include <cassert>
#include <utility>

#include "base/ascending_copy.h"
#include "base/crc32c.h"
#include "protocol/frame.h"
#include "wire/overlap.h"

namespace railweave::engine {

wire::Target PayloadCheck::place_for(std::uint32_t crc, const wire::Target& target) {
  assert(target.where.size() <= protocol::kSegmentBytesMax);
  if (target.read_while_landing && !apart_bytes_)
    apart_bytes_ = std::make_unique_for_overwrite<std::byte[]>(protocol::kSegmentBytesMax);
  expected_ = crc;
  place_ = target.where;
  apart_ = target.read_while_landing;
  return apart_ ? wire::Target{{apart_bytes_.get(), place_.size()}} : target;
}

PayloadCheck::Verdict PayloadCheck::verdict() {
  const std::span<std::byte> place = std::exchange(place_, {});
  const std::span<const std::byte> bytes =
      apart_ ? std::span<const std::byte>(apart_bytes_.get(), place.size()) : place;
  found_ = crc32c(bytes);
  if (found_ != expected_) return Verdict::damaged;
  if (apart_) ascending_copy(place.data(), bytes.data(), bytes.size());
  return Verdict::intact;
}

void PayloadCheck::withdraw(std::span<const std::byte> range) {
  if (wire::overlap(place_, range)) place_ = {};
}

}  // namespace railweave::engine
