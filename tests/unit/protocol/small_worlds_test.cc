// Tries every order in which a few messages of two streams can be posted, written and read. A message that both ends
// have posted always completes, whatever the other stream lacks.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "pair.h"

namespace railweave::protocol {
namespace {

// kLong: more than a segment; kShort: eager.
constexpr std::size_t kLong = kSegmentBytesMax + 1000, kShort = 100;

struct Stream {
  Priority priority;
  std::vector<std::vector<std::byte>> messages;
};

const std::vector<std::byte> kLongs[] = {pattern(kLong, 1), pattern(kLong, 2)};
const std::vector<std::byte> kShorts = pattern(kShort, 3);

// One step in a world. send_* and receive_* post the next message of the first or second stream.
enum class Step : char { send_first, send_second, receive_first, receive_second, a_writes, b_reads, b_writes, a_reads };
constexpr int kSteps = 8;

class SmallWorld {
 public:
  explicit SmallWorld(const std::vector<Stream>& streams) : streams_(streams) {
    pair_.add_lanes(1);
    for (const Stream& s : streams_) {
      const Pair::Ends ends = pair_.open(s.priority);
      out_.push_back(&ends.out);
      in_.push_back(&ends.in);
    }
    for (const End end : {End::a, End::b}) pair_.written(end).clear();
    sends_.resize(streams_.size());
    receives_.resize(streams_.size());
  }

  // Does the step. Returns false if there is nothing to do.
  bool take(Step step) {
    switch (step) {
      case Step::send_first:
      case Step::send_second: return send(std::size_t(step) - std::size_t(Step::send_first));
      case Step::receive_first:
      case Step::receive_second: return receive(std::size_t(step) - std::size_t(Step::receive_first));
      case Step::a_writes: return write(End::a);
      case Step::b_writes: return write(End::b);
      case Step::a_reads: return read(End::a);
      case Step::b_reads: return read(End::b);
    }
    return false;
  }

  // Returns a text that is the same for worlds in the same state. The search continues from one of them only.
  std::string looks() {
    std::string text;
    const auto add = [&](std::uint64_t n) { text += std::to_string(n) + ' '; };
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      add(sends_[s].size());
      add(receives_[s].size());
    }
    for (const End end : {End::a, End::b}) {
      for (const Completion& c : pair_.done(end))
        add(std::uint64_t(static_cast<char*>(c.request) - requests_.slots.data()));
      const std::vector<FrameHeader>& written = pair_.written(end);
      add(written.size());
      for (std::size_t i = read_[end == End::a ? 0 : 1]; i < written.size(); ++i) {
        const FrameHeader& h = written[i];
        text += name_of(h.type);
        for (const std::uint64_t n : {std::uint64_t(h.stream), h.message, h.a, h.b}) add(n);
      }
    }
    return text;
  }

  // Runs until nothing moves. Returns what is wrong then; empty: nothing.
  std::string at_rest() {
    pair_.run();
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      const std::size_t matched = std::min(sends_[s].size(), receives_[s].size());
      for (std::size_t m = 0; m < matched; ++m) {
        const auto ended = [&](End end, void* request) {
          const auto& done = pair_.done(end);
          return std::ranges::count_if(done,
                                       [&](const Completion& c) { return c.request == request && c.status.ok(); });
        };
        const std::string which = "message " + std::to_string(m) + " of stream " + std::to_string(s);
        if (ended(End::b, receives_[s][m]) != 1) return "the receive of " + which + " did not end once";
        if (ended(End::a, sends_[s][m]) != 1) return "the send of " + which + " did not end once";
        if (places_[s * kPlaces + m] != streams_[s].messages[m]) return which + " is not what was sent";
      }
    }
    return {};
  }

 private:
  static constexpr std::size_t kPlaces = 4;  // messages of a stream, at most

  bool send(std::size_t s) {
    const std::size_t m = sends_[s].size();
    if (m == streams_[s].messages.size()) return false;
    sends_[s].push_back(requests_[s * kPlaces + m]);
    const auto& message = streams_[s].messages[m];
    pair_.a().post(*out_[s], sends_[s].back(), message.data(), message.size());
    return true;
  }
  bool receive(std::size_t s) {
    const std::size_t m = receives_[s].size();
    if (m == streams_[s].messages.size()) return false;
    receives_[s].push_back(requests_[100 + s * kPlaces + m]);
    auto& place = places_[s * kPlaces + m];
    place.resize(streams_[s].messages[m].size());
    pair_.b().post(*in_[s], receives_[s].back(), place.data(), place.size());
    return true;
  }
  bool write(End end) {
    if (pair_.take(end, 0, 1) == 0) return false;
    pair_.write(end, 0);
    return true;
  }
  bool read(End end) {
    if (!pair_.arriving(end, 0)) return false;
    EXPECT_TRUE(pair_.read(end, 0).ok());
    ++read_[end == End::a ? 1 : 0];
    pair_.settle(other(end), 0);
    return true;
  }

  const std::vector<Stream>& streams_;
  Pair pair_;
  Requests requests_;
  std::vector<SendStream*> out_;
  std::vector<RecvStream*> in_;
  std::vector<std::vector<void*>> sends_, receives_;
  std::array<std::vector<std::byte>, 2 * kPlaces> places_;
  std::array<std::size_t, 2> read_{};  // read frames of a, and of b, since the streams were opened
};

std::string told(const std::string& steps) {
  constexpr const char* kNames[kSteps] = {"send 0",   "send 1",  "receive 0", "receive 1",
                                          "a writes", "b reads", "b writes",  "a reads"};
  std::string text;
  for (const char step : steps) text += std::string(text.empty() ? "" : ", ") + kNames[int(step)];
  return text;
}

// Searches breadth first, so that a failing sequence is short. Worlds cannot be copied: each repeats all its steps.
void search(const std::vector<Stream>& streams, std::size_t most) {
  (void)mallopt(M_MMAP_THRESHOLD, 64 << 20);  // else each world's buffers would be mapped and unmapped anew
  (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
  std::deque<std::string> open{""};
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string before = open.front();
    open.pop_front();
    for (int step = 0; step < kSteps; ++step) {
      SmallWorld world(streams);
      for (const char earlier : before) world.take(Step(earlier));
      if (!world.take(Step(step)) || !seen.insert(world.looks()).second) continue;
      const std::string steps = before + char(step);
      ASSERT_EQ(world.at_rest(), "") << told(steps);
      ASSERT_LT(seen.size(), most);
      open.push_back(steps);
    }
  }
  std::cout << seen.size() << " worlds\n";
  EXPECT_GT(seen.size(), 100u);
}

TEST(SmallWorlds, search__no_stream_waits_for_another) {
  search({{Priority::normal, {kLongs[0], kShorts}}, {Priority::normal, {kLongs[1]}}}, 100'000);
}

TEST(SmallWorlds, search__no_stream_waits_for_one_of_another_priority) {
  search({{Priority::bulk, {kLongs[0]}}, {Priority::urgent, {kLongs[1]}}}, 100'000);
}

}  // namespace
}  // namespace railweave::protocol
