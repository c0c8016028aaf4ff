// The protocol session as several threads share it: its mutex, the posts on their way in, the completions and events on
// their way out.
//
// Threads: any. The mutex is locked here and nowhere else; the protocol is reached through Locked. The mutex is held
// for bookkeeping only, never across a system call; a lane's claim is taken before it (docs/internals/threading.md).
// Errors: whatever finds no memory throws std::bad_alloc, and what was not taken in or out stays for the next time.
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

// What a session counts. Written under the session's mutex, read by any thread.
struct alignas(kCacheLineBytes) SessionMetrics {
  Gauge send_streams, recv_streams;
  Gauge control_frames;             // sent ever, keepalives not included
  Gauge control_frames_said_again;  // of them, because their lane was late
};

// Posts of one stream on their way into the session.
class Inbox : public ReadyNode {
 public:
  // Runs under the session's mutex. False: some had to stay, the session has no room for them yet.
  virtual bool drain(protocol::SessionProtocol& session) = 0;
  // Some post that is not in the session yet is on memory of `range`. Runs under the session's mutex.
  virtual bool holds(std::span<const std::byte> range) const = 0;
  // Requests that are not finished, and when the oldest was posted; the far future when there is none. Any thread.
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
  // `clock` outlives it.
  SharedProtocol(const protocol::SessionOptions& options, const Clock& clock);

  const Clock& clock() const { return clock_; }
  TimePoint now() const { return clock_.now(); }

  // The protocol, for as long as this lives: it holds the mutex.
  class Locked {
   public:
    explicit Locked(SharedProtocol& shared) : shared_(shared), lock_(shared.mutex_) {}
    protocol::SessionProtocol* operator->() const { return &**this; }
    protocol::SessionProtocol& operator*() const {
      shared_.mutex_.assert_held();  // clang does not follow what a member holds
      return shared_.protocol_;
    }

    // What callers posted goes into the session.
    void take_posts() const {
      shared_.mutex_.assert_held();
      shared_.take_posts();
    }
    // What the protocol's calls brought is handed on: completions to their requests, events to take_events(). After
    // every such call.
    void publish() const {
      shared_.mutex_.assert_held();
      shared_.publish();
    }

    // We said goodbye: lanes may end.
    void say_goodbye() const;
    // A goodbye was said, by either side.
    bool is_leaving() const {
      shared_.mutex_.assert_held();
      return shared_.leaving_ || shared_.protocol_.peer_said_goodbye();
    }
    // The protocol failed by itself, and fail() is on its way: serves() is false from now on.
    void mark_broken() const { shared_.mark_broken(); }
    // Every request ends with `why`; is_over() from now on.
    void fail(const Status& why) const;
    // A request failed after fail(). Forgets it.
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
  // There is something in `inbox`. Whoever drives next takes it.
  void add_post(Inbox& inbox) { ready_.add(inbox); }
  bool has_posts() const { return !ready_.empty(); }
  // What publish() saw last: worth asking the session for frames. Saves an idle poll the mutex.
  bool may_write() const { return may_write_.load(std::memory_order_relaxed); }
  const SessionMetrics& metrics() const { return metrics_; }
  bool has_events() const { return has_events_.load(std::memory_order_relaxed); }
  // fail() was called.
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // Neither over, nor about to be because the two ends disagree.
  bool serves() const { return !is_over() && !broken_.load(std::memory_order_acquire); }
  void mark_broken() { broken_.store(true, std::memory_order_release); }

  // --- these lock it for one look
  std::vector<protocol::Event> take_events();
  // Something waits to be written.
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
  bool leaving_ RW_GUARDED_BY(mutex_) = false;                 // we said goodbye
  bool late_failure_ RW_GUARDED_BY(mutex_) = false;            // a request failed after fail()
  SessionMetrics metrics_;
  std::atomic<bool> has_events_{false};
  std::atomic<bool> may_write_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> broken_{false};  // protocol_ failed by itself, and fail() is on its way or at work
  ReadySet ready_;                   // inboxes with posts
};

// A value that a session's mutex guards, though the value is kept beside the protocol. A caller reaches the value by
// showing a Locked.
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
