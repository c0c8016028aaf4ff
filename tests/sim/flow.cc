#include "tests/sim/flow.h"

#include <algorithm>
#include <cstring>

namespace railweave::sim {
namespace {

constexpr std::size_t kSlackMost = 300;
constexpr std::size_t kRemembered = 2 * protocol::kMessagesInFlight;  // requests, to find one that ends twice

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

}  // namespace

Flow::Flow(int number, SessionEnd& from, SessionEnd& to, MemoryWatch& memory, const Manners& manners,
           std::uint64_t seed, Fail fail)
    : number_(number),
      from_(from),
      to_(to),
      memory_(memory),
      manners_(manners),
      seed_(seed),
      random_(seed),
      fail_(std::move(fail)),
      rules_(manners.eager_limit_bytes, [this](const std::string& what) { wrong(what); }) {}

std::string Flow::named(const Request& r) { return (r.send ? "send " : "receive ") + std::to_string(r.index); }

void Flow::wrong(const std::string& what) {
  fail_("stream " + from_.name() + " to " + to_.name() + ", flow " + std::to_string(number_) + ": " + what);
}

std::size_t Flow::size_of(std::uint64_t index) const {
  const std::uint64_t r = mix(seed_ + index);
  const std::uint64_t scale = r >> 32;
  if (manners_.small && r % 200 > 9) return std::size_t(1 + scale % 250);
  switch (r % 10) {
    case 0: return 0;
    case 1:
    case 2:
    case 3: return std::size_t(1 + scale % 200);
    case 4:
    case 5: return std::size_t(manners_.eager_limit_bytes + scale % 3);
    case 6:
    case 7:
    case 8: return std::size_t(1 + scale % (20 * KiB));
    default: return std::size_t(1 + scale % manners_.size_most);
  }
}

// Returns content in which every word depends on flow, message and place.
std::vector<std::byte> Flow::content(std::uint64_t index) const {
  std::vector<std::byte> bytes(size_of(index));
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = mix((std::uint64_t(number_) << 48) ^ (index << 28) ^ i);
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i));
  }
  return bytes;
}

// ----------------------------------------------------------------------------------------------------------- opening

void Flow::open(Priority priority, std::uint64_t rails) {
  out_ = &from_.session().open_stream(priority, std::uint64_t(number_), rails);
  id_ = out_->id();
  rules_.opened_as(priority);
  from_.touch();
}

void Flow::on_incoming(protocol::StreamId stream, bool accept, std::uint64_t rails) {
  if (receiver_gone_) return;
  if (in_ != nullptr || refused_) return wrong("it came in twice");
  if (stream != id_) return wrong("it came in with the number " + std::to_string(stream));
  if (accept) {
    in_ = &to_.session().accept_stream(stream, rails);
  } else {
    troubled_ = refused_ = in_closed_ = true;
    to_.session().refuse_stream(stream, "not wanted");
  }
  to_.touch();
  if (ending_) close_receiver();
}

void Flow::on_opened(const Status& status) {
  if (out_closed_) return;
  if (opened_) return wrong("it was opened twice");
  opened_ = true;
  if (!status.ok() && !troubled_) wrong("opening failed: " + status.message());
  if (!status.ok()) close_sender();
}

// ----------------------------------------------------------------------------------------------------------- posting

bool Flow::post_send() {
  if (out_closed_ || !opened_ || !out_->can_post()) return false;
  const std::uint64_t index = sends_.posted++;
  sends_.kept.push_back(std::make_unique<Request>(true, index, content(index)));
  Request& r = *sends_.kept.back();
  posted_bytes_ += r.buffer.size();
  rules_.send_posted(r.buffer.size(), tag_of(index));
  last_order_ = manners_.ordered ? from_.next_order() : 0;
  from_.session().post(*out_, static_cast<railweave::Request*>(&r), r.buffer.data(), r.buffer.size(), tag_of(index),
                       last_order_);
  from_.touch();
  return true;
}

bool Flow::post_short_receive() { return size_of(receives_.posted) > 0 && post_receive(true); }

bool Flow::post_receive(bool too_short) {
  if (in_closed_ || in_ == nullptr || !in_->can_post()) return false;
  const std::uint64_t index = receives_.posted++, r = mix(~seed_ + index);
  std::size_t capacity = size_of(index) + (r % 2 ? std::size_t(r >> 40) % kSlackMost : 0);
  if (too_short || (manners_.may_truncate && (r >> 8) % 150 == 0 && size_of(index) > 0)) {
    capacity = std::size_t(r >> 20) % size_of(index);
    troubled_ = receiver_troubled_ = true;
  }
  receives_.kept.push_back(
      std::make_unique<Request>(false, index, std::vector<std::byte>(capacity, MemoryWatch::kPoison)));
  Request& request = *receives_.kept.back();
  memory_.lend(request.buffer);
  rules_.receive_posted(capacity);
  to_.session().post(*in_, static_cast<railweave::Request*>(&request), request.buffer.data(), capacity);
  to_.touch();
  return true;
}

bool Flow::over() const {
  return died_ || left_in_peace_ || refused_ || out_closed_ || in_closed_ || (out_ && out_->failed()) ||
         (in_ && in_->failed());
}

void Flow::even_out() {
  if (over()) return;
  for (int i = 0; i < 64 && sends_.posted < receives_.posted && !out_closed_ && opened_ && out_->can_post(); ++i)
    post_send();
  for (int i = 0; i < 64 && receives_.posted < sends_.posted && !in_closed_ && in_ && in_->can_post(); ++i)
    post_receive();
}

// ------------------------------------------------------------------------------------------------------------ ending

void Flow::close_sender() {
  if (out_closed_ || out_ == nullptr) return;
  if (out_->unfinished() > 0 || !opened_) {
    troubled_ = receiver_troubled_ = true;
  } else {
    troubled_ = true;
    final_ = sends_.posted;
  }
  out_closed_ = true;
  from_.session().close(*out_);
  from_.touch();
  take_back_all(from_, sends_);
}

void Flow::close_receiver() {
  if (in_closed_ || in_ == nullptr) return;
  troubled_ = receiver_troubled_ = in_closed_ = true;
  to_.session().close(*in_);
  to_.touch();
  take_back_all(to_, receives_);
}

void Flow::end() {
  ending_ = true;
  close_sender();
  close_receiver();
}

Flow::Request* Flow::unfinished(Requests& requests) {
  std::vector<Request*> all;
  for (auto it = requests.kept.rbegin(); it != requests.kept.rend() && all.size() < 64; ++it)
    if (!(*it)->ended && !(*it)->buffer.empty()) all.push_back(it->get());
  return all.empty() ? nullptr : all[random_() % all.size()];
}

bool Flow::withdraw_sender() {
  Request* r = out_closed_ ? nullptr : unfinished(sends_);
  if (r == nullptr) return false;
  if (from_.session().withdraw(*out_, r->buffer)) troubled_ = receiver_troubled_ = true;
  from_.touch();
  take_back(from_, *r);
  return true;
}

bool Flow::withdraw_receiver() {
  Request* r = in_closed_ ? nullptr : unfinished(receives_);
  if (r == nullptr) return false;
  if (to_.session().withdraw(*in_, r->buffer)) troubled_ = receiver_troubled_ = true;
  to_.touch();
  take_back(to_, *r);
  return true;
}

// Gives the memory back to the caller: no lane may touch it, and it is overwritten at once.
void Flow::take_back(SessionEnd& end, Request& request) {
  if (request.buffer.empty()) return;
  end.withdraw(id_, request.send, request.buffer);
  memory_.take_back(std::move(request.buffer));
  request.buffer = {};
}

void Flow::take_back_all(SessionEnd& end, Requests& requests) {
  for (const auto& r : requests.kept) take_back(end, *r);
}

void Flow::give_back_memory() {
  check_ended();
  for (Requests* all : {&sends_, &receives_})
    for (const auto& r : all->kept) memory_.take_back(std::exchange(r->buffer, {}));
}

// ------------------------------------------------------------------------------------------------------- completions

std::size_t Flow::collect(const SessionEnd& end) {
  std::size_t ended = 0;
  if (&end == &from_) ended += collect(sends_);
  if (&end == &to_) ended += collect(receives_);
  return ended;
}

std::size_t Flow::collect(Requests& all) {
  std::size_t ended = 0;
  while (all.ended < all.posted) {
    Request& next = *all.kept[all.kept.size() - (all.posted - all.ended)];
    if (!next.is_done()) break;
    complete(next);
    ++ended;
  }
  for (std::uint64_t behind = all.posted - all.ended; behind > 0; --behind)
    if (const Request& r = *all.kept[all.kept.size() - behind]; r.is_done()) wrong(named(r) + " ended out of order");
  return ended;
}

// Sets the request to free, so that check_ended() finds a session that completes it again.
void Flow::complete(Request& r) {
  Requests& all = r.send ? sends_ : receives_;
  r.ended = true;
  r.state.store(Request::State::free, std::memory_order_relaxed);
  ++all.ended;
  if (!r.status.ok()) return check_error(r, r.status);
  r.send ? check_sent(r) : check_received(r);
  if (r.buffer.empty()) return;
  check_deregistration(r);
  // A request that ended well needs no withdrawal: its memory is the caller's.
  memory_.take_back(std::move(r.buffer));
  r.buffer = {};
  for (; all.kept.size() > kRemembered && all.kept.front()->ended && all.kept.front()->buffer.empty();
       all.kept.pop_front())
    check_ended(*all.kept.front());
}

void Flow::check_ended(const Request& r) {
  if (r.ended && r.is_done()) wrong(named(r) + " ended twice");
}

void Flow::check_ended() {
  for (const Requests* all : {&sends_, &receives_})
    for (const auto& r : all->kept) check_ended(*r);
}

// A caller may deregister memory whose requests ended, though what was sent from it is not acknowledged yet.
void Flow::check_deregistration(const Request& r) {
  if (r.send ? out_closed_ : in_closed_) return;
  if (r.send ? from_.session().withdraw(*out_, r.buffer) : to_.session().withdraw(*in_, r.buffer))
    wrong(named(r) + " ended, and its memory could not be deregistered");
}

void Flow::check_sent(const Request& r) {
  const std::size_t size = size_of(r.index);
  if (r.bytes != size) wrong("send " + std::to_string(r.index) + " ended with another size");
  rules_.send_ends(r.index);
}

void Flow::check_received(const Request& r) {
  const std::string what = named(r);
  if (r.index >= sends_.posted) return wrong(what + " is done before its send was posted");
  if (r.bytes != size_of(r.index))
    return wrong(what + " ended with " + std::to_string(r.bytes) + " bytes, expected " +
                 std::to_string(size_of(r.index)));
  if (r.tag != tag_of(r.index)) return wrong(what + " ended with another's tag");
  if (!died_) rules_.receive_ends(r.index);
  if (r.buffer.empty()) return;  // empty, or withdrawn after the session had completed it
  const std::vector<std::byte> expected = content(r.index);
  const auto diff = std::ranges::mismatch(expected, r.buffer);
  if (diff.in1 != expected.end())
    return wrong(what + ": byte " + std::to_string(diff.in1 - expected.begin()) + " of " +
                 std::to_string(expected.size()) + " is wrong");
  if (std::any_of(diff.in2, r.buffer.end(), [](std::byte b) { return b != MemoryWatch::kPoison; }))
    wrong(what + ": written beyond the message");
}

void Flow::check_error(const Request& r, const Status& status) {
  const std::string what = named(r);
  if (!troubled_) return wrong(what + " failed without cause: " + status.message());
  if (!r.send && !receiver_troubled_ && r.index < final_)
    wrong(what + " failed, though the sender had finished it and closed in peace: " + status.message());
}

void Flow::on_frame(const SessionEnd& at, SessionEnd::Passing passing, const protocol::FrameHeader& h) {
  const bool segment = h.type == protocol::FrameType::segment;
  if (&at == &from_ && !(h.flags & protocol::kFlagFromReceiver)) {
    if (segment && passing == SessionEnd::Passing::taken) rules_.sender_takes(h);
    if (segment && passing == SessionEnd::Passing::written) rules_.sender_wrote(h);
    check_expedite();
  } else if (&at == &from_) {
    if (passing == SessionEnd::Passing::consumed) rules_.sender_hears(h);
  } else if (h.flags & protocol::kFlagFromReceiver) {
    if (passing == SessionEnd::Passing::taken) rules_.receiver_takes(h);
    if (passing == SessionEnd::Passing::written) rules_.receiver_wrote(h);
  } else if (segment) {
    if (passing == SessionEnd::Passing::met) rules_.receiver_meets(h);
    if (passing == SessionEnd::Passing::consumed) rules_.receiver_has(h);
  }
}

void Flow::expedite() {
  if (out_closed_ || out_ == nullptr) return;
  from_.session().expedite(*out_, last_order_);
  expedited_to_ = last_order_;
  check_expedite();
  from_.touch();
}

// Checks that messages up to the last one that was posted at expedite() are expedited.
void Flow::check_expedite() {
  if (!expedited_to_ || out_closed_ || out_ == nullptr || !out_->has_segment()) return;
  if (out_->order() <= *expedited_to_ && !out_->expedited())
    wrong("a message of order " + std::to_string(out_->order()) + " is not expedited");
}

void Flow::leave(const SessionEnd& end, bool in_peace) {
  &end == &from_ ? close_sender() : close_receiver();
  left_in_peace_ = in_peace;
  troubled_ = true;
  if (!in_peace) receiver_troubled_ = true;
}

void Flow::end_died(const SessionEnd& end) {
  session_died();
  (&end == &from_ ? sender_gone_ : receiver_gone_) = true;
  (&end == &from_ ? out_closed_ : in_closed_) = true;
}

bool Flow::settled() const {
  if ((!sender_gone_ && sends_.ended != sends_.posted) || (!receiver_gone_ && receives_.ended != receives_.posted))
    return false;
  return over() || (opened_ && sends_.posted == receives_.posted);
}

std::string Flow::state() const {
  return "flow " + std::to_string(number_) + " " + from_.name() + " to " + to_.name() + ": sends " +
         std::to_string(sends_.ended) + " of " + std::to_string(sends_.posted) + ", receives " +
         std::to_string(receives_.ended) + " of " + std::to_string(receives_.posted) + (opened_ ? "" : ", not open") +
         (troubled_ ? ", troubled" : "") + (out_closed_ ? ", sender closed" : "") +
         (in_closed_ ? ", receiver closed" : "");
}

}  // namespace railweave::sim
