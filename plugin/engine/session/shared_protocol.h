// The protocol session, shared by several threads: its mutex, incoming posts, outgoing completions and events.
//
// Threads: any. Only this class locks the mutex; callers reach the protocol through Locked. The mutex is held for
// bookkeeping. LaneDriver::take_frames() makes up to two short system calls under the mutex: SIOCOUTQ and, at most
// every 4 ms, TCP_INFO. A lane's claim is taken before the mutex (docs/internals/threading.md).
// Errors: a call without memory throws std::bad_alloc. Posts, completions and events that it did not move stay for the
// next call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/ready_set.h"
#include "protocol/session_protocol.h"
#include "railweave/units.h"

namespace railweave::engine {

// A session's counters. Written under the session's mutex, read by any thread.
struct alignas(kCacheLineBytes) SessionMetrics {
  Gauge send_streams, recv_streams;
  Gauge control_frames;                // sent ever, keepalives not included
  Gauge control_frames_retransmitted;  // of these, retransmitted by another lane because their lane was late
};

// Posts of one stream that are to go into the session.
class Inbox : public ReadyNode {
 public:
  // Moves the posts into the session. Runs under the session's mutex. False: the session has no room yet for some of
  // the posts, and they stay.
  virtual bool drain(protocol::SessionProtocol& session) = 0;
  // Some post that is not in the session yet uses memory of `range`. Runs under the session's mutex.
  virtual bool holds(std::span<const std::byte> range) const = 0;
  // The number of unfinished requests, and when the oldest was posted (TimePoint::max(): none). Any thread.
  struct Unfinished {
    std::uint64_t sends = 0, receives = 0;
    TimePoint oldest_post = TimePoint::max();
  };
  virtual Unfinished unfinished() const = 0;

 protected:
  ~Inbox() = default;
};

class SharedProtocol {
 public:
  // `clock` outlives the object.
  SharedProtocol(const protocol::SessionOptions& options, const Clock& clock);

  const Clock& clock() const { return clock_; }
  TimePoint now() const { return clock_.now(); }

  // Access to the protocol. Holds the mutex from construction to destruction.
  class Locked {
   public:
    explicit Locked(SharedProtocol& shared) : shared_(shared), lock_(shared.mutex_) {}
    protocol::SessionProtocol* operator->() const {
      shared_.mutex_.assert_held();  // clang does not follow what a member holds
      return &shared_.protocol_;
    }
    protocol::SessionProtocol& operator*() const { return *operator->(); }

    // Moves callers' posts into the session.
    void take_posts() const {
      shared_.mutex_.assert_held();
      shared_.take_posts();
    }
    // Hands on what calls of the protocol produced: completions to their requests, events to take_events(). Call it
    // after every call that may produce either.
    void publish() const {
      shared_.mutex_.assert_held();
      shared_.publish();
    }

    // Sends GOODBYE: lanes may end from now on.
    void say_goodbye() const;
    // Either side said GOODBYE.
    bool is_leaving() const {
      shared_.mutex_.assert_held();
      return shared_.leaving_ || shared_.protocol_.peer_said_goodbye();
    }
    // The protocol failed by itself, and the caller is about to call fail(): serves() is false from now on.
    void mark_broken() const { shared_.mark_broken(); }
    // Ends every request with `why`; is_over() is true from now on.
    void fail(const Status& why) const;
    // Returns whether a request failed after fail(), and clears the flag.
    bool take_late_failure() const {
      shared_.mutex_.assert_held();
      return std::exchange(shared_.late_failure_, false);
    }

   private:
    SharedProtocol& shared_;
    const MutexLock lock_;
  };
  [[nodiscard]] Locked lock() { return Locked(*this); }

  // --- without the mutex
  // `inbox` has posts. The next thread that drives the session moves them into it.
  void add_post(Inbox& inbox) { ready_.add(inbox); }
  bool has_posts() const { return !ready_.empty(); }
  // The protocol had frames to write at the last publish(). Saves an idle poll the mutex.
  bool may_write() const { return may_write_.load(std::memory_order_relaxed); }
  const SessionMetrics& metrics() const { return metrics_; }
  bool has_events() const { return has_events_.load(std::memory_order_relaxed); }
  // fail() was called.
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // The session is neither over nor broken by a disagreement of the two ends (mark_broken()).
  bool serves() const { return !is_over() && !broken_.load(std::memory_order_acquire); }
  void mark_broken() { broken_.store(true, std::memory_order_release); }

  // --- each locks the mutex once
  std::vector<protocol::Event> take_events();
  // Posts or frames wait to be written.
  bool has_work();
  bool is_without_lanes();
  bool is_leaving() { return lock().is_leaving(); }
  bool watches_control() { return lock()->watches_control(); }
  bool goodbye_written() { return lock()->goodbye_written(); }
  bool had_lane(protocol::LaneId id) { return lock()->had_lane(id); }

 private:
  void take_posts() RW_REQUIRES(mutex_);
  void publish() RW_REQUIRES(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  protocol::SessionProtocol protocol_ RW_GUARDED_BY(mutex_);
  std::vector<protocol::Event> events_ RW_GUARDED_BY(mutex_);  // handed on by publish(), not taken yet
  bool leaving_ RW_GUARDED_BY(mutex_) = false;                 // this end said GOODBYE
  bool late_failure_ RW_GUARDED_BY(mutex_) = false;            // a request failed after fail()
  SessionMetrics metrics_;
  std::atomic<bool> has_events_{false};
  std::atomic<bool> may_write_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> broken_{false};  // protocol_ failed by itself; fail() follows or was called
  ReadySet ready_;                   // inboxes with posts
};

// A value that is guarded by a session's mutex and kept beside the protocol. A caller gets the value by passing a
// Locked.
template <class T>
class UnderProtocol {
 public:
  template <class... From>
  explicit UnderProtocol(From&&... from) : value_(std::forward<From>(from)...) {}

  T& operator()(const SharedProtocol::Locked&) { return value_; }

 private:
  T value_;
};

}  // namespace railweave::engine
