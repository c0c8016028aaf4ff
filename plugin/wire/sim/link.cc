#include "wire/sim/link.h"

#include <algorithm>
#include <utility>

#include "wire/sim/connection.h"
#include "wire/sim/network.h"
#include "wire/sim/pipe.h"

namespace railweave::wire {

void SimLink::add(std::weak_ptr<SimConnection> connection) {
  std::erase_if(connections_, [](const auto& c) { return c.expired(); });
  connections_.push_back(std::move(connection));
}

void SimLink::cut() {
  cut_ = true;
  for (Direction& d : directions_) d.held.clear();
  const auto connections = std::exchange(connections_, {});
  for (const auto& weak : connections)
    if (const auto connection = weak.lock()) connection->lose("link down");
}

void SimLink::resume(int direction) {
  Direction& d = directions_[std::size_t(direction)];
  d.silent = false;
  const auto held = std::exchange(d.held, {});
  for (const auto& what : held) what();
}

void SimLink::deliver(int direction, std::function<void()> what) {
  if (cut_) return;
  if (is_silent(direction)) {
    directions_[std::size_t(direction)].held.push_back(std::move(what));
  } else {
    what();
  }
}

void SimLink::wait(int direction, std::weak_ptr<SimPipe> pipe) {
  directions_[std::size_t(direction)].waiting.push_back(std::move(pipe));
  fill(direction);
}

void SimLink::fill(int direction) {
  Direction& d = directions_[std::size_t(direction)];
  while (!d.waiting.empty() && (d.queue.empty() || d.queued_bytes < spec_.queue_bytes)) {
    const auto pipe = d.waiting.front().lock();
    d.waiting.pop_front();
    if (!pipe) continue;
    pipe->send_piece();
    if (pipe->can_send()) {
      d.waiting.push_back(pipe);
    } else {
      pipe->no_longer_waiting();
    }
  }
}

void SimLink::put(int direction, std::size_t bytes, std::function<void()> transmitted) {
  Direction& d = directions_[std::size_t(direction)];
  d.queue.push_back({bytes, std::move(transmitted)});
  d.queued_bytes += bytes;
  if (d.queue.size() == 1) transmit(direction);
}

void SimLink::set_rate(Rate rate) {
  const Rate before = std::exchange(spec_.rate, rate);
  for (int direction : {0, 1}) {
    Direction& d = directions_[std::size_t(direction)];
    if (d.queue.empty() || before.bytes_per_s == rate.bytes_per_s) continue;
    d.left_bytes = std::max(0.0, d.left_bytes - before.bytes_in(net_.now() - d.left_at));
    foresee_end(direction);
  }
}

void SimLink::transmit(int direction) {
  Direction& d = directions_[std::size_t(direction)];
  d.left_bytes = double(d.queue.front().bytes);
  foresee_end(direction);
}

void SimLink::foresee_end(int direction) {
  Direction& d = directions_[std::size_t(direction)];
  d.left_at = net_.now();
  net_.after(spec_.rate.time_for(d.left_bytes), [this, direction, &d, timed = ++d.timed] {
    if (timed == d.timed) transmitted(direction);
  });
}

void SimLink::transmitted(int direction) {
  Direction& d = directions_[std::size_t(direction)];
  const Item item = std::move(d.queue.front());
  d.queue.pop_front();
  d.queued_bytes -= item.bytes;
  if (!d.queue.empty()) transmit(direction);
  item.transmitted();
  fill(direction);
}

}  // namespace railweave::wire
