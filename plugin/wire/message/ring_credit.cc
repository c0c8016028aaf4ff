#include "wire/message/ring_credit.h"

#include <fmt/format.h>

#include <cassert>

namespace railweave::wire::message {

void RingCredit::sent() {
  assert(may_send_credit());
  ++sent_;
  told_ = given_back_;
  stream_untold_ = answer_owed_ = false;
}

Status RingCredit::peer_says(std::uint32_t returned) {
  const auto ahead = std::int32_t(returned - std::uint32_t(returned_));
  if (ahead <= 0) return {};  // said before
  if (std::uint64_t(ahead) > unreturned())
    return Status(Code::remote, Scope::lane,
                  fmt::format("malformed block: {} more slots given back, expected at most {}", ahead, unreturned()));
  returned_ += std::uint64_t(ahead);
  return {};
}

void RingCredit::gave_back(bool has_stream, bool asks) {
  ++given_back_;
  stream_untold_ |= has_stream;
  answer_owed_ |= asks;
}

bool RingCredit::owes_statement(bool idle) const {
  return answer_owed_ || given_back_ - told_ >= own_slots_ / 4 || (idle && stream_untold_);
}

}  // namespace railweave::wire::message
