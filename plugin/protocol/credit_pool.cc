#include "protocol/credit_pool.h"

#include <cassert>

namespace railweave::protocol {

void CreditPool::settle(std::uint64_t bytes) {
  assert(bytes <= charged_bytes_ && "a stream gives back more than it announced");
  charged_bytes_ -= bytes;
}

}  // namespace railweave::protocol
