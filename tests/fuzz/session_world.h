// One session and everything that an engine may do with it, in any order: callers post and close, lanes are added,
// write, read and break, and the peer sends any frames. The memory of a request is freed as soon as the session reports
// the request done, so that a later access is a use after free.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "protocol/session_protocol.h"
#include "tests/fuzz/input.h"

namespace railweave::fuzz {

class SessionWorld {
 public:
  explicit SessionWorld(Input in) : in_(in), session_({.eager_limit_bytes = 1024}) {}

  // Acts as the input says, then ends the session and checks that every request has ended.
  void run();

 private:
  struct PostedMessage {
    bool send = false, done = false;
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> memory;
    const protocol::SendStream* stream = nullptr;  // of a send; may be closed
  };
  // A frame taken and not yet released. `payload` empty: withdrawn.
  struct Taken {
    std::span<const std::byte> payload;
    bool written = false;
  };
  struct Lane {
    bool added = false, live = false;
    std::deque<Taken> taken;
    std::uint32_t frames_taken = 0;
    bool arriving = false;  // the header has arrived, its payload has not
    std::span<std::byte> target;
    std::uint32_t next_sequence = 0, consumed = 0;
  };
  template <class Stream>
  using Streams = std::vector<Stream*>;

  void step();
  // --- the caller
  void open_stream();
  void answer_incoming();
  void post_send();
  void post_receive();
  template <class Stream>
  void close_one(Streams<Stream>& streams);
  template <class Stream>
  void withdraw_one(Streams<Stream>& streams, bool send);
  PostedMessage& new_message(bool send, std::size_t size);
  // --- the lanes
  void add_lane(int lane);
  void lose_lane(int lane);
  void take(int lane);
  void write(int lane);
  void release(int lane);
  void frame(int lane);
  void payload(int lane);
  void on_status(int lane, const Status& status);
  void fail_session(const Status& why);
  protocol::FrameHeader peer_header(Lane& lane);
  // --- what the session hands out
  void drain();
  void on_completion(const protocol::Completion& completion);
  void on_event(const protocol::Event& event);
  bool arrives_in(const PostedMessage& message) const;
  bool refers_to(const PostedMessage& message) const;
  bool in_good_order(const PostedMessage& message) const;
  void withdraw_from_lanes(std::span<const std::byte> range);

  static constexpr int kLanes = 2;
  Input in_;
  protocol::SessionProtocol session_;
  std::array<Lane, kLanes> lanes_;
  Streams<protocol::SendStream> sends_;
  Streams<protocol::RecvStream> receives_;
  std::deque<protocol::StreamId> incoming_;
  std::deque<PostedMessage> messages_;  // the address of an element is its request
  std::uint64_t pending_sends_ = 0, pending_receives_ = 0, posted_bytes_ = 0;
  TimePoint now_{};
};

}  // namespace railweave::fuzz
