// Two sessions and the lanes between them: nothing happens but what the test calls. One thread.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "protocol/session_protocol.h"

namespace railweave::protocol {

enum class End { a, b };
inline End other(End end) { return end == End::a ? End::b : End::a; }

class Pair {
 public:
  // The eager limit is small, so that a message of one segment may need a grant.
  static constexpr SessionOptions kOptions{.eager_limit_bytes = 16 * KiB};
  explicit Pair(const SessionOptions& a = kOptions, const SessionOptions& b = kOptions) : sides_{Side(a), Side(b)} {}

  SessionProtocol& session(End end) { return side(end).session; }
  SessionProtocol& a() { return session(End::a); }
  SessionProtocol& b() { return session(End::b); }
  // Return all completions, and all events, of `end` so far, in order.
  const std::vector<Completion>& done(End end) { return drain(end), side(end).done; }
  const std::vector<Event>& events(End end) { return drain(end), side(end).events; }
  // Returns the headers that `end` has written, in order, over all lanes.
  std::vector<FrameHeader>& written(End end) { return side(end).written; }

  void add_lanes(int count) {
    for (int i = 0; i < count; ++i) add_lane(LaneId(i), i, i);
  }
  void add_lane(LaneId lane, int rail_a, int rail_b, bool doubtful = false) {
    a().add_lane(lane, rail_a, rail_b, doubtful);
    b().add_lane(lane, rail_b, rail_a, doubtful);
    side(End::a).out[lane];
    side(End::b).out[lane];
  }

  // Adds a lane and runs until the lane is proven, which takes padding after a loss.
  void add_proven_lane(LaneId lane) {
    add_lane(lane, 0, 0);
    run();
  }

  // The lane takes frames, and does not write them yet. Returns their number.
  std::size_t take(End from, LaneId lane, std::size_t frames_max = 16, bool flush = true) {
    std::vector<OutgoingFrame> frames(frames_max);
    const std::size_t n = session(from).next_frames(lane, frames, flush);
    for (std::size_t i = 0; i < n; ++i) {
      Frame f{frames[i].header, {}, {frames[i].payload.begin(), frames[i].payload.end()}};
      encode(f.header, f.bytes);
      side(from).out.at(lane).taken.push_back(std::move(f));
    }
    return n;
  }
  // Hands the oldest taken frames over to the network.
  void write(End from, LaneId lane, std::size_t frames = SIZE_MAX) {
    Pipe& pipe = side(from).out.at(lane);
    for (; frames > 0 && !pipe.taken.empty(); --frames) {
      side(from).written.push_back(pipe.taken.front().header);
      if (!pipe.deaf) pipe.network.push_back(std::move(pipe.taken.front()));
      pipe.taken.pop_front();
      session(from).on_written(lane, 1);
      session(from).on_released(lane, 1);
    }
  }
  // The lane takes all frames that it gets, and writes them. Returns their number.
  std::size_t send(End from, LaneId lane) {
    std::size_t sum = 0;
    while (const std::size_t n = take(from, lane)) sum += n;
    write(from, lane);
    return sum;
  }

  bool arriving(End at, LaneId lane) { return !side(other(at)).out.at(lane).network.empty(); }
  // Reads the header of the oldest frame; its payload is still under way.
  Result<std::span<std::byte>> read_header(End at, LaneId lane) {
    return session(at).on_header(lane, side(other(at)).out.at(lane).network.front().bytes);
  }
  Status read_payload(End at, LaneId lane, std::span<std::byte> target) {
    std::deque<Frame>& network = side(other(at)).out.at(lane).network;
    if (target.data() != nullptr && !target.empty())
      std::memcpy(target.data(), network.front().payload.data(), network.front().payload.size());
    network.pop_front();
    return session(at).on_consumed(lane);
  }
  // Reads the oldest frame completely.
  Status read(End at, LaneId lane) {
    Result<std::span<std::byte>> target = read_header(at, lane);
    return target.ok() ? read_payload(at, lane, *target) : target.status();
  }
  // Reads all frames on the network towards this end.
  void receive(End at, LaneId lane) {
    while (arriving(at, lane)) {
      const Status status = read(at, lane);
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  // Sends and receives on every lane until nothing moves. All that arrives is acknowledged at once.
  void run() {
    for (int round = 0; round < 10000; ++round)
      if (!run_once()) return;
    FAIL() << "the sessions never come to rest";
  }
  bool run_once() {
    bool moved = false;
    for (const End end : {End::a, End::b}) {
      for (const auto& [lane, pipe] : side(end).out) {
        moved |= send(end, lane) > 0;
        moved |= arriving(other(end), lane);
        receive(other(end), lane);
        settle(end, lane);
        if (::testing::Test::HasFatalFailure()) return false;
      }
    }
    return moved;
  }

  // This end loses the lane. Frames under way to this end are never read.
  void lose(End at, LaneId lane) {
    session(at).lose_lane(lane);
    side(at).out.at(lane).taken.clear();
    side(other(at)).out.at(lane).network.clear();
    side(other(at)).out.at(lane).deaf = true;
  }
  void lose_both(LaneId lane) {
    lose(End::a, lane);
    lose(End::b, lane);
  }

  // Both ends of a stream from a to b.
  struct Ends {
    SendStream& out;
    RecvStream& in;
  };
  Ends open(Priority priority = Priority::normal, std::uint64_t rails_a = ~0ull, std::uint64_t rails_b = ~0ull) {
    SendStream& out = a().open_stream(priority, 7, rails_a);
    run();
    RecvStream& in = b().accept_stream(out.id(), rails_b);
    run();
    EXPECT_TRUE(out.opened());
    return {out, in};
  }

  // Teaches the session the lane's rate: the lane is busy at `rate` for half a second, then idle.
  void teach(End end, LaneId lane, Rate rate, Nanos min_rtt = Nanos(0)) {
    constexpr Nanos kStep = std::chrono::milliseconds(10);
    Teaching& t = side(end).teaching[lane];
    t.min_rtt = min_rtt;
    // so much that a sample never ends because all of it is acknowledged
    const auto outstanding = std::uint64_t(rate.bytes_in(4 * kStep)) + 64 * KiB;
    SessionProtocol::LaneReport report{
        .outstanding_bytes = outstanding, .acknowledged_bytes = t.acknowledged, .min_rtt = min_rtt};
    for (int i = 0; i < 50; ++i) {
      session(end).report(lane, t.now, report);
      t.now += kStep;
      report.acknowledged_bytes += std::uint64_t(rate.bytes_in(kStep));
    }
    report.outstanding_bytes = 0;
    session(end).report(lane, t.now, report);
    t.acknowledged = report.acknowledged_bytes;
  }
  // Reports that nothing is outstanding any more. Until then all bytes taken count as outstanding.
  void settle(End end, LaneId lane) {
    const Teaching& t = side(end).teaching[lane];
    session(end).report(lane, t.now, {.acknowledged_bytes = t.acknowledged, .min_rtt = t.min_rtt});
  }

 private:
  struct Frame {
    FrameHeader header;
    std::array<std::byte, kFrameHeaderBytes> bytes;
    std::vector<std::byte> payload;
  };
  struct Pipe {
    std::deque<Frame> taken, network;
    bool deaf = false;  // the reader lost the lane: written frames are dropped
  };
  struct Teaching {
    TimePoint now{std::chrono::seconds(1)};
    std::uint64_t acknowledged = 0;
    Nanos min_rtt{0};
  };
  struct Side {
    explicit Side(const SessionOptions& options) : session(options) {}
    SessionProtocol session;
    std::map<LaneId, Pipe> out;
    std::map<LaneId, Teaching> teaching;
    std::vector<FrameHeader> written;
    std::vector<Completion> done;
    std::vector<Event> events;
  };
  Side& side(End end) { return sides_[end == End::a ? 0 : 1]; }
  void drain(End end) {
    Side& s = side(end);
    s.done.insert(s.done.end(), s.session.completions().begin(), s.session.completions().end());
    s.session.completions().clear();
    s.events.insert(s.events.end(), s.session.events().begin(), s.session.events().end());
    s.session.events().clear();
  }

  Side sides_[2];
};

// Returns bytes that depend on their position: each eight are made of `tag` and their index.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t tag = 1) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    std::uint64_t word = (std::uint64_t(tag) << 32 | std::uint32_t(i / 8)) * 0x9e3779b97f4a7c15ull;
    word ^= word >> 32;
    out[i] = std::byte(word >> (8 * (i % 8)));
  }
  return out;
}

// Requests of a test: only their addresses count.
struct Requests {
  void* operator[](std::size_t i) { return &slots[i]; }
  std::array<char, 1 << 17> slots;
};

}  // namespace railweave::protocol
