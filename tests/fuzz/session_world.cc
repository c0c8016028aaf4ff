#include "tests/fuzz/session_world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/fuzz/check.h"

namespace railweave::fuzz {

using namespace protocol;

namespace {

constexpr std::size_t kStreamsKnownMax = 3000;  // a peer may open 65536: too slow here
constexpr std::size_t kRequestsMax = 2000;
constexpr std::size_t kMessageBytes = 64 * KiB;

void touch(std::span<const std::byte> bytes) {
  std::byte sum{};
  for (const std::byte b : bytes) sum ^= b;
  static std::byte sink;
  sink = sum;
  (void)sink;
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.data() == nullptr || a.empty() || b.empty()) return false;  // a discarding target has a size
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

void SessionWorld::run() {
  for (int i = 0; i < kLanes; ++i) add_lane(i);
  while (!in_.empty() && session_.recv_streams() < kStreamsKnownMax && messages_.size() < kRequestsMax) {
    step();
    drain();
    std::uint64_t sends = 0, receives = 0;
    session_.count_unfinished(sends, receives);
    check(sends == pending_sends_ && receives == pending_receives_, "what is unfinished has not ended");
    check(session_.waiting_bytes() <= posted_bytes_, "no more waits than was posted");
  }
  fail_session(Status(Code::remote, Scope::session, "the end"));
  drain();
  check(pending_sends_ == 0, "every send ends");
  check(pending_receives_ == 0, "every receive ends");
  while (!incoming_.empty()) answer_incoming();
  while (!sends_.empty()) close_one(sends_);
  while (!receives_.empty()) close_one(receives_);
  drain();
}

void SessionWorld::step() {
  const std::uint8_t act = in_.u8();
  const int lane = act & 1;
  switch ((act >> 1) % 24) {
    case 0: return open_stream();
    case 1: return answer_incoming();
    case 2:
    case 3: return post_send();
    case 4:
    case 5: return post_receive();
    case 6: return take(lane);
    case 7: return write(lane);
    case 8: return release(lane);
    case 9: return take(lane), write(lane), release(lane);
    case 10:
    case 11:
    case 12:
    case 13: return frame(lane);
    case 14:
    case 15:
    case 16: return payload(lane), frame(lane), payload(lane);
    case 17: return payload(lane);
    case 18: return lane ? close_one(sends_) : close_one(receives_);
    case 19: return lane ? withdraw_one(sends_, true) : withdraw_one(receives_, false);
    case 20: return lose_lane(lane);
    case 21: return add_lane(lane);
    case 22: return session_.set_blocked(LaneId(lane), in_.u8() & 1), session_.publish_without_acks();
    default: break;
  }
  const std::uint8_t what = in_.u8();
  if (what == 0) session_.say_goodbye();
  if (what == 1)
    session_.announce_rail(
        {int(in_.below(kRailsMax)), in_.number(), std::string(in_.below(kControlPayloadBytesMax + 1), 'r')});
  if (what == 2 || what == 3) (void)session_.retire(LaneId(lane), what == 2);
  now_ += std::chrono::microseconds(in_.u8());
  session_.report(LaneId(lane), now_, {in_.number(), in_.number(), Nanos(in_.u16())});
}

// --------------------------------------------------------------------------------------------------------- the caller

void SessionWorld::open_stream() {
  if (sends_.size() >= 8) return;
  sends_.push_back(&session_.open_stream(Priority(in_.below(kPriorities)), in_.u8(), in_.u8() & 1 ? ~0ull : in_.u8()));
}

void SessionWorld::answer_incoming() {
  if (incoming_.empty()) return;
  const StreamId id = incoming_.front();
  incoming_.pop_front();
  if (in_.u8() & 1) return session_.refuse_stream(id, "no");
  receives_.push_back(&session_.accept_stream(id, ~0ull));
}

SessionWorld::PostedMessage& SessionWorld::new_message(bool send, std::size_t size) {
  PostedMessage& t = messages_.emplace_back();
  t.send = send;
  t.size = size;
  t.memory = std::make_unique_for_overwrite<std::byte[]>(size);
  (send ? pending_sends_ : pending_receives_) += 1;
  posted_bytes_ += send ? size : 0;
  return t;
}

void SessionWorld::post_send() {
  if (sends_.empty()) return;
  protocol::SendStream& s = *sends_[in_.below(sends_.size())];
  const std::size_t size = in_.number() % (kMessageBytes + 1);
  if (!s.can_post()) return;
  PostedMessage& t = new_message(true, size);
  t.stream = &s;
  session_.post(s, &t, t.memory.get(), t.size);
}

void SessionWorld::post_receive() {
  if (receives_.empty()) return;
  protocol::RecvStream& s = *receives_[in_.below(receives_.size())];
  const std::size_t size = in_.number() % (kMessageBytes + 1);
  if (!s.can_post()) return;
  PostedMessage& t = new_message(false, size);
  session_.post(s, &t, t.memory.get(), t.size);
}

template <class Stream>
void SessionWorld::close_one(Streams<Stream>& streams) {
  if (streams.empty()) return;
  const std::size_t i = in_.below(streams.size());
  Stream& s = *streams[i];
  streams.erase(streams.begin() + std::ptrdiff_t(i));
  session_.close(s);
}

template <class Stream>
void SessionWorld::withdraw_one(Streams<Stream>& streams, bool send) {
  if (streams.empty() || messages_.empty()) return;
  Stream& s = *streams[in_.below(streams.size())];
  const PostedMessage& t = messages_[messages_.size() - 1 - in_.below(messages_.size())];
  if (t.done || t.send != send) return;
  const std::span<const std::byte> range(t.memory.get(), t.size);
  if (session_.withdraw(s, range)) withdraw_from_lanes(range);
}

// ---------------------------------------------------------------------------------------------------------- the lanes

void SessionWorld::add_lane(int lane) {
  if (std::exchange(lanes_[std::size_t(lane)].added, true)) return;
  lanes_[std::size_t(lane)].live = true;
  session_.add_lane(LaneId(lane), lane, lane);
}

void SessionWorld::lose_lane(int lane) {
  Lane& l = lanes_[std::size_t(lane)];
  if (!std::exchange(l.live, false)) return;
  l.taken.clear();
  l.arriving = false;
  session_.lose_lane(LaneId(lane));
}

void SessionWorld::take(int lane) {
  Lane& l = lanes_[std::size_t(lane)];
  std::array<OutgoingFrame, 16> frames;
  const std::size_t room = 1 + in_.below(frames.size());
  const std::size_t n = session_.next_frames(LaneId(lane), std::span(frames).first(room), in_.u8() & 1);
  check(n <= room, "no more frames than asked for");
  check(n == 0 || l.live, "a lost lane gets no frames");
  for (std::size_t i = 0; i < n; ++i) {
    check(frames[i].header.length == frames[i].payload.size(), "the header tells the payload's length");
    std::array<std::byte, kFrameHeaderBytes> bytes;
    encode(frames[i].header, bytes);
    check(decode(bytes).ok(), "no peer would refuse the header");
    l.taken.push_back({frames[i].payload});
    ++l.frames_taken;
  }
}

void SessionWorld::write(int lane) {
  Lane& l = lanes_[std::size_t(lane)];
  std::size_t n = 1 + in_.below(16), count = 0;
  for (Taken& t : l.taken) {
    if (t.written || n-- == 0) continue;
    touch(t.payload);
    t.written = true;
    ++count;
  }
  if (count > 0) session_.on_written(LaneId(lane), count);
}

void SessionWorld::release(int lane) {
  Lane& l = lanes_[std::size_t(lane)];
  std::size_t count = 0;
  for (std::size_t n = 1 + in_.below(16); n > 0 && !l.taken.empty() && l.taken.front().written; --n, ++count) {
    touch(l.taken.front().payload);
    l.taken.pop_front();
  }
  if (count > 0) session_.on_released(LaneId(lane), count);
}

FrameHeader SessionWorld::peer_header(Lane& lane) {
  FrameHeader h;
  h.type = FrameType(1 + in_.below(13));
  const std::uint8_t how = in_.u8();
  h.flags = std::uint8_t((how & 3) | ((how & 4) ? kFlagFromReceiver : 0));
  h.stream = how & 8 ? in_.u8() : std::uint32_t(in_.below(4));
  if (h.stream == 255) h.stream = std::uint32_t(in_.number());
  h.message = how & 16 ? in_.number() : in_.below(64);
  h.a = in_.number();
  h.b = how & 32 ? h.a : in_.number();
  if (h.type == FrameType::retire) h.b &= 1;
  h.length = std::uint32_t(how & 64 ? h.b - h.a : in_.number());
  h.aux = how & 128 ? in_.u16() : std::uint16_t(in_.below(8));
  const std::uint8_t counts = in_.u8();
  lane.consumed = counts & 0x80 ? lane.frames_taken : std::min(lane.frames_taken, lane.consumed + (counts & 15));
  h.consumed = counts & 0x40 ? in_.u16() : lane.consumed;
  h.sequence = counts == 0x3f ? in_.u8() : lane.next_sequence++;
  return h;
}

void SessionWorld::frame(int lane) {
  Lane& l = lanes_[std::size_t(lane)];
  if (!l.live || l.arriving) return;
  const FrameHeader h = peer_header(l);
  std::array<std::byte, kFrameHeaderBytes> bytes;
  encode(h, bytes);
  Result<std::span<std::byte>> target = session_.on_header(LaneId(lane), bytes);
  if (!target.ok()) return on_status(lane, target.status());
  check(target->size() == h.length, "a place of the payload's length");
  l.arriving = true;
  l.target = *target;
  if (target->empty()) payload(lane);
}

// Any number of other acts may come between a header and its payload.
void SessionWorld::payload(int lane) {
  Lane& l = lanes_[std::size_t(lane)];
  if (!l.live || !std::exchange(l.arriving, false)) return;
  if (l.target.data() != nullptr && !l.target.empty()) std::memset(l.target.data(), in_.u8(), l.target.size());
  on_status(lane, session_.on_consumed(LaneId(lane)));
}

void SessionWorld::on_status(int lane, const Status& status) {
  if (status.ok()) return;
  check(!status.message().empty(), "an error says what is wrong");
  check(status.scope() == Scope::lane || status.scope() == Scope::session, "a frame costs its lane or the session");
  status.scope() == Scope::session ? fail_session(status) : lose_lane(lane);
}

void SessionWorld::fail_session(const Status& why) {
  session_.fail(why);
  for (int i = 0; i < kLanes; ++i) lose_lane(i);
}

// ------------------------------------------------------------------------------------------ what the session hands out

void SessionWorld::drain() {
  while (!session_.completions().empty() || !session_.events().empty()) {
    const Completions completions = std::exchange(session_.completions(), {});
    for (const Completion& c : completions) on_completion(c);
    const std::vector<Event> events = std::exchange(session_.events(), {});
    for (const Event& e : events) on_event(e);
  }
}

void SessionWorld::on_completion(const Completion& completion) {
  PostedMessage& t = *static_cast<PostedMessage*>(completion.request);
  check(!t.done, "a request ends once");
  t.done = true;
  (t.send ? pending_sends_ : pending_receives_) -= 1;
  check(!completion.status.ok() || completion.bytes <= t.size, "no more bytes than there is memory");
  check(!completion.status.ok() || !t.send || completion.bytes == t.size, "a send that ended well was whole");
  check(!completion.status.ok() || t.send || !arrives_in(t), "a receive that ended well is not written any more");
  check(!completion.status.ok() || !t.send || !in_good_order(t) || !refers_to(t),
        "a send that ended well is not read any more");
  // A caller withdraws memory before it frees it.
  withdraw_from_lanes({t.memory.get(), t.size});
  t.memory.reset();
}

bool SessionWorld::arrives_in(const PostedMessage& message) const {
  return std::ranges::any_of(lanes_, [&](const Lane& l) {
    return l.arriving && overlap(l.target, {message.memory.get(), message.size});
  });
}

bool SessionWorld::refers_to(const PostedMessage& message) const {
  return std::ranges::any_of(lanes_, [&](const Lane& l) {
    return std::ranges::any_of(l.taken, [&](const Taken& t) {
      return overlap(t.payload, {message.memory.get(), message.size});
    });
  });
}

// Returns true if the message's stream is open and has not failed.
bool SessionWorld::in_good_order(const PostedMessage& message) const {
  return std::ranges::find(sends_, message.stream) != sends_.end() && !message.stream->failed();
}

void SessionWorld::withdraw_from_lanes(std::span<const std::byte> range) {
  for (Lane& l : lanes_) {
    for (Taken& t : l.taken)
      if (overlap(t.payload, range)) t.payload = {};
    if (overlap(l.target, range)) l.target = {static_cast<std::byte*>(nullptr), l.target.size()};
  }
}

void SessionWorld::on_event(const Event& event) {
  switch (event.kind) {
    case Event::Kind::incoming: return incoming_.push_back(event.stream);
    case Event::Kind::lane_failed_by_peer: return event.lane < kLanes ? lose_lane(event.lane) : void();
    case Event::Kind::lane_retired:
      return event.lane < kLanes && session_.is_retiring(event.lane) ? lose_lane(event.lane) : void();
    case Event::Kind::rails_announced:
      for (const RailUpdates::Statement& news : session_.drain_rail_updates()) {
        check(news.rail < kRailsMax, "a mask has a bit for each rail");
        check(news.bytes.size() <= kControlPayloadBytesMax, "what is kept of a rail is bounded");
      }
      return;
    case Event::Kind::opened:
    case Event::Kind::overridden:
    case Event::Kind::goodbye: return;
  }
}

}  // namespace railweave::fuzz
