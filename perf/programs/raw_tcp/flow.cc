#include "raw_tcp/flow.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/error.h"

namespace railweave::perf::raw_tcp {

Flow::Flow(int socket, Direction direction, std::string rail, const FlowPlan& plan, Pages memory)
    : socket_(socket),
      direction_(direction),
      rail_(std::move(rail)),
      plan_(plan),
      memory_(std::move(memory)),
      at_(memory_.span().data()),
      left_(plan.message_bytes) {}

Result<bool> Flow::step() { return direction_ == Direction::out ? send_some() : receive_some(); }

void Flow::advance(std::size_t n) {
  moved_ += n;
  at_ += n;
  left_ -= n;
  if (left_ > 0) return;
  left_ = plan_.message_bytes;
  buffer_ = (buffer_ + 1) % plan_.buffers;
  at_ = memory_.span().data() + std::size_t(buffer_) * slot_bytes(plan_.message_bytes);
}

Result<bool> Flow::send_some() {
  if (moved_ >= stop_at_) {
    ::shutdown(socket_, SHUT_WR);
    over_ = true;
    return true;
  }
  const auto n = std::size_t(std::min<std::uint64_t>(left_, stop_at_ - moved_));
  ++calls_;
  const ssize_t sent = ::send(socket_, at_, n, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) advance(std::size_t(sent));
  if (sent > 0) return true;
  if (sent == 0 || errno == EAGAIN || errno == EINTR) return false;
  return system_error(Scope::engine, "send on " + rail_);
}

Result<bool> Flow::receive_some() {
  const std::size_t n = plan_.call_bytes_max > 0 ? std::min(left_, plan_.call_bytes_max) : left_;
  ++calls_;
  const ssize_t got = ::recv(socket_, at_, n, MSG_DONTWAIT);
  if (got > 0) advance(std::size_t(got));
  if (got > 0) return true;
  if (got == 0) {
    over_ = true;
    return true;
  }
  if (errno == EAGAIN || errno == EINTR) return false;
  return system_error(Scope::engine, "recv on " + rail_);
}

}  // namespace railweave::perf::raw_tcp
