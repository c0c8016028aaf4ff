#include "tests/sim/credit/credit_lane.h"

#include "engine/credit/lane_credit.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;
using protocol::Credit;

constexpr std::uint64_t kPacket = 8 * KiB, kSegmentLeast = 4 * KiB, kSegmentMost = 128 * KiB;
constexpr std::uint64_t kOwnBound = 256 * KiB;  // bytes under way; about the striper's bound
constexpr std::uint64_t kFirstEdge = 64 * KiB;  // the first TCP window that Linux advertises
constexpr std::uint64_t kHeader = 64;
constexpr Nanos kSendLook = 20ms;        // until a sender without room tries again
constexpr Nanos kStatementAgain = 20ms;  // until a lost statement is sent again
constexpr Nanos kLateMost = 30ms;

}  // namespace

CreditLane::CreditLane(CreditWorld& world, int from, int to)
    : world_(world),
      from_(from),
      to_(to),
      window_(engine::LaneCredit::kFirst),
      edge_(kFirstEdge),
      share_(std::in_place, world.host(to).account, world.options_.rate),
      announced_(engine::LaneCredit::kFirst),
      advertised_(kFirstEdge),
      alive_at_(world.now()) {}

void CreditLane::handle(const Event& event) {
  if (!open_) return;
  switch (event.kind) {
    case Event::Kind::at_switch: {
      Event arrival = event;
      arrival.kind = Event::Kind::arrive;
      arrival.at = world_.host(to_).in.push(world_.now_, event.a);
      return world_.after(arrival);
    }
    case Event::Kind::arrive: return arrive(event);
    case Event::Kind::read: return read();
    case Event::Kind::acknowledge:
      acknowledged_ = std::max(acknowledged_, event.a);
      edge_ = std::max(edge_, event.b);
      transmit();
      return send();
    case Event::Kind::apply: window_.apply(event.edition, {.window_bytes = event.a, .limit = event.b}); return send();
    case Event::Kind::poll:
      if (event.at >= poll_at_) poll();
      return;
    case Event::Kind::send: send_pending_ = false; return send();
  }
}

// ---------------------------------------------------------------------------------------------------------- the sender

void CreditLane::post(std::uint64_t bytes) {
  if (!wants()) alive_at_ = world_.now_;
  waiting_ += bytes;
  send();
}

void CreditLane::send() {
  if (world_.stands_still(from_)) return send_later(world_.runs_at(from_));
  window_.observe(world_.local(from_, world_.now_), taken_, waiting_ > 0);
  while (waiting_ > 0) {
    const std::uint64_t under_way = taken_ - acknowledged_, own = kOwnBound - std::min(kOwnBound, under_way);
    const std::uint64_t room = std::min(window_.room(under_way, taken_), own);
    if (room < protocol::CreditWindow::kLeastBytes) {
      window_.refuse();
      send_later(world_.now_ + kSendLook);
      break;
    }
    const std::uint64_t cut = std::clamp(window_.standing().window_bytes / 2, kSegmentLeast, kSegmentMost);
    const std::uint64_t bytes = std::min({room, cut, waiting_ + kHeader});
    waiting_ -= bytes - std::min(bytes, kHeader);
    taken_ += bytes;
    window_.took();
  }
  transmit();
}

void CreditLane::send_later(TimePoint at) {
  if (!std::exchange(send_pending_, true)) world_.after({.kind = Event::Kind::send, .at = at, .lane = this});
}

// The sender's kernel sends as far as the receiver's TCP window allows.
void CreditLane::transmit() {
  while (on_wire_ < std::min(taken_, edge_)) {
    const std::uint64_t bytes = std::min(kPacket, std::min(taken_, edge_) - on_wire_);
    on_wire_ += bytes;
    const TimePoint left = world_.host(from_).out.push(world_.now_, bytes);
    const std::uint64_t waits_kib = (waiting_ + (taken_ - on_wire_) + KiB - 1) / KiB;
    world_.after({.kind = Event::Kind::at_switch,
                  .at = left + world_.options_.one_way,
                  .lane = this,
                  .a = bytes,
                  .b = waits_kib});
  }
}

// -------------------------------------------------------------------------------------------------------- the receiver

void CreditLane::arrive(const Event& packet) {
  longest_gap_ = std::max(longest_gap_, world_.now_ - alive_at_);
  alive_at_ = world_.now_;
  arrived_ += packet.a;
  last_waiting_kib_ = std::uint32_t(packet.b);
  acknowledge();
  if (!std::exchange(read_pending_, true))
    world_.after({.kind = Event::Kind::read, .at = receiver_runs_at(), .lane = this});
}

void CreditLane::acknowledge() {
  const TimePoint at = world_.now_ + world_.options_.one_way;
  world_.after({.kind = Event::Kind::acknowledge, .at = at, .lane = this, .a = arrived_, .b = advertised_});
}

void CreditLane::read() {
  if (receiver_stands_still()) return world_.after({.kind = Event::Kind::read, .at = receiver_runs_at(), .lane = this});
  read_pending_ = false;
  arrivals_.position = arrived_;
  ++arrivals_.segments;
  arrivals_.waiting_kib = last_waiting_kib_;
  poll();
}

void CreditLane::poll() {
  if (receiver_stands_still())
    return world_.after({.kind = Event::Kind::poll, .at = poll_at_ = receiver_runs_at(), .lane = this});
  const Credit credit = share_->poll(world_.local(to_, world_.now_), arrivals_, 2 * world_.options_.one_way);
  if (const auto news = announced_.news(credit, bound_arrivals(credit.window_bytes))) say(*news);
  poll_at_ = share_->due() == TimePoint::max() ? share_->due() : world_.global(to_, share_->due());
  if (poll_at_ != TimePoint::max()) world_.after({.kind = Event::Kind::poll, .at = poll_at_, .lane = this});
}

// As wire::Lane::bound_arrivals().
bool CreditLane::bound_arrivals(std::uint64_t window_bytes) {
  const bool bounds = world_.options_.kernel_holds;
  const std::uint64_t edge = arrivals_.position + (bounds ? std::min(window_bytes, kOwnBound) : kOwnBound);
  if (edge > advertised_) {
    advertised_ = edge;
    acknowledge();
  }
  return bounds && advertised_ <= edge + KiB;
}

// Sends a statement. A lost one is sent again unchanged, so a newer one may arrive before.
void CreditLane::say(const protocol::Credit& credit) {
  Event statement{.kind = Event::Kind::apply,
                  .at = world_.now_ + world_.options_.one_way,
                  .lane = this,
                  .a = credit.window_bytes,
                  .b = credit.limit,
                  .edition = ++edition_};
  if (world_.chance(world_.options_.lost)) statement.at += kStatementAgain;
  if (world_.chance(world_.options_.late))
    statement.at +=
        Nanos(std::int64_t(double(kLateMost.count()) * std::uniform_real_distribution<>(0, 1)(world_.random_)));
  world_.after(statement);
  if (!world_.chance(world_.options_.twice)) return;
  statement.at += kLateMost;
  world_.after(statement);
}

void CreditLane::forget() {
  forgotten_ = arrived_;
  longest_gap_ = Nanos{0};
  alive_at_ = world_.now_;
}

}  // namespace railweave::sim
