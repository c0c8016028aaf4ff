// Flow: one stream between the two ends of a session, with the requests of both callers. Checks that each byte of a
// completed message is in its place, that requests end once and in order, and that errors have a cause.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/api/request.h"
#include "tests/sim/frame_rules.h"
#include "tests/sim/session_end.h"

namespace railweave::sim {

class Flow {
 public:
  struct Manners {
    std::size_t eager_limit_bytes;  // the smaller limit of the two ends
    std::size_t size_most;
    bool small = false;  // few messages are larger than 250 bytes
    bool may_truncate = false;
    bool ordered = false;  // messages have order numbers, as they are posted at their end
  };
  Flow(int number, SessionEnd& from, SessionEnd& to, MemoryWatch& memory, const Manners& manners, std::uint64_t seed,
       Fail fail);

  int number() const { return number_; }
  SessionEnd& from() { return from_; }
  SessionEnd& to() { return to_; }

  void open(Priority priority, std::uint64_t rails);
  // The stream came to the receiver's session. Accepts or refuses it; after end(), closes it at once.
  void on_incoming(protocol::StreamId stream, bool accept, std::uint64_t rails);
  void on_opened(const Status& status);
  protocol::StreamId id() const { return id_; }

  // Post the next request. Without effect, and false, if there is no room or the end is closed or not open yet.
  bool post_send();
  bool post_receive() { return post_receive(false); }
  // Posts a receive that is too short for its message. Also false for an empty message: nothing is shorter.
  bool post_short_receive();
  void close_sender();
  void close_receiver();
  // Closes both ends, and a receiver's end that comes later as soon as it comes.
  void end();
  // Deregister the memory of one unfinished request. False: none is there.
  bool withdraw_sender();
  bool withdraw_receiver();
  // Expedites the messages posted so far.
  void expedite();
  // The session failed at one end at least: errors are expected from now on.
  void session_died() { died_ = troubled_ = receiver_troubled_ = true; }
  // `end` leaves, and closes its side of the stream. `in_peace`: what was sent before still arrives.
  void leave(const SessionEnd& end, bool in_peace);
  bool left_in_peace() const { return left_in_peace_; }
  // The process of `end` died: no request ends there any more.
  void end_died(const SessionEnd& end);

  void on_frame(const SessionEnd& at, SessionEnd::Passing passing, const protocol::FrameHeader& frame);
  // The sending stream; null: not open yet, or closed.
  const protocol::SendStream* sending() const { return out_closed_ ? nullptr : out_; }
  void acks_waived() { rules_.acks_waived(); }
  // The stream carries nothing new: an end closed, failed or died.
  bool over() const;
  // All requests ended, and the stream is over or has as many sends as receives.
  bool settled() const;
  // Posts requests at the end that has posted fewer.
  void even_out();
  std::uint64_t posted_bytes() const { return posted_bytes_; }
  bool open_at_both_ends() const { return opened_ && in_ != nullptr && !over(); }
  // Requests that ended since the beginning.
  std::uint64_t ended() const { return sends_.ended + receives_.ended; }
  // Takes back the memory of all requests, also of those that died with their process. REQUIRES: neither end has a
  // lane.
  void give_back_memory();
  std::string state() const;

  // Checks the requests of `end` that ended since the last call. Returns their number.
  std::size_t collect(const SessionEnd& end);
  // Checks that no request ended twice.
  void check_ended();

 private:
  struct Request : railweave::Request {
    Request(bool is_send, std::uint64_t number, std::vector<std::byte> memory)
        : send(is_send), index(number), buffer(std::move(memory)) {
      state.store(State::posted, std::memory_order_relaxed);
    }
    bool is_done() const { return state.load(std::memory_order_relaxed) == State::done; }
    const bool send;
    const std::uint64_t index;
    std::vector<std::byte> buffer;
    bool ended = false;
  };
  struct Requests {
    std::uint64_t posted = 0, ended = 0;
    std::deque<std::unique_ptr<Request>> kept;  // all that did not end, and some that did
  };

  bool post_receive(bool too_short);
  std::size_t size_of(std::uint64_t index) const;
  std::uint64_t tag_of(std::uint64_t index) const { return seed_ + 7 * index; }
  std::vector<std::byte> content(std::uint64_t index) const;
  std::size_t collect(Requests& requests);
  void complete(Request& request);
  void check_sent(const Request& request);
  void check_received(const Request& request);
  void check_ended(const Request& request);
  void check_error(const Request& request, const Status& status);
  void check_deregistration(const Request& request);
  void check_expedite();
  static std::string named(const Request& request);
  void take_back(SessionEnd& end, Request& request);
  void take_back_all(SessionEnd& end, Requests& requests);
  Request* unfinished(Requests& requests);
  void wrong(const std::string& what);

  const int number_;
  SessionEnd &from_, &to_;
  MemoryWatch& memory_;
  const Manners manners_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  const Fail fail_;
  FrameRules rules_;

  protocol::StreamId id_ = 0;
  protocol::SendStream* out_ = nullptr;
  protocol::RecvStream* in_ = nullptr;
  bool opened_ = false, refused_ = false, out_closed_ = false, in_closed_ = false;
  bool ending_ = false, died_ = false, sender_gone_ = false, receiver_gone_ = false, left_in_peace_ = false;
  bool troubled_ = false;             // errors are expected
  bool receiver_troubled_ = false;    // receives of messages before final_ may fail, too
  std::uint64_t final_ = UINT64_MAX;  // number of sends when the sender closed in peace
  Requests sends_, receives_;
  std::uint64_t posted_bytes_ = 0, last_order_ = 0;
  std::optional<std::uint64_t> expedited_to_;  // order of the last expedited message
};

}  // namespace railweave::sim
