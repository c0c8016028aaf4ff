// The Work of one operation of torch: one or several operations of the group (its chunks), copies before and after
// each, and a Future.
//
// Threads: any. The thread that drove a chunk copies its results out, or queues the copies on a staged device's stream.
// The thread that drove the last chunk notifies the backend, and completes the Future if it was not requested yet.
#pragma once

#include <ATen/ThreadLocalState.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "collectives/group/group.h"
#include "torch_ext/csrc/operation_record.h"
#include "torch_ext/csrc/staging.h"
#include "torch_ext/csrc/tensors.h"

namespace railweave::torch_ext {

// A part of an operation with a call of its own. While one chunk is on the wire, the next one can be copied.
struct Chunk {
  Copies before;  // by a staged device, before `call`
  std::function<collectives::WorkPtr(collectives::Group&, const collectives::Hints&)> call;
  Copies after;                // once the chunk has succeeded
  std::uint64_t elements = 0;  // dtype + 1 if elements go as bytes, so that ranks whose dtypes differ notice; else 0
};

// Everything that a Work knows of its operation before it begins.
struct Outline {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "";                            // "railweave:all_reduce", in profiles and errors
  std::shared_ptr<const std::string> whose;          // " of group ...", in errors; null: nothing
  std::shared_ptr<const std::string> profile_title;  // in profiles; null: `title`
  std::string whom;                                  // of a message: " from rank 3, tag 7,", in errors
  int rank = 0;
  std::uint64_t sequence = 0;           // collectives called so far, this one included
  bool counted = true;                  // false: no number of its own (a message, or made of counted operations)
  std::uint64_t id = 0;                 // among all operations of the backend, from 1
  std::uint64_t messages = 0;           // called so far, this one included
  int peer = OperationRecord::kNoPeer;  // of a message
  TimePoint called{};
  collectives::Hints hints;               // of the thread that called
  std::chrono::milliseconds timeout{};    // of the whole operation
  TimePoint deadline = TimePoint::max();  // the operation and its group end then; max: never
  Tensors inputs;                         // as the caller gave them, for profiles
  Tensors results;                        // the Future's value
  Tensors memory;                         // kept until the operation is over
  StagedDevice* device = nullptr;         // device of the tensors; null: the host
  std::vector<Chunk> chunks;
  Copies last;                    // by the device, after the copies of all chunks
  std::size_t message_bytes = 0;  // of a receive: expected length
  bool is_receive = false;
  std::vector<c10::intrusive_ptr<c10d::Work>> after;  // the operation is over only when these are, well or badly
};

class RailweaveWork final : public c10d::Work {
 public:
  explicit RailweaveWork(Outline outline);
  ~RailweaveWork() override;
  // First call, on the caller's thread: queues the copies to the host on the device. Returns a mark per chunk, after
  // which it may be launched; null: at once.
  std::vector<MarkPtr> fetch();
  // Second call. `over` is called when the operation is over, on the thread that drove it.
  void begin(std::function<void(const Status&)> over);
  // Then one call per chunk, in order, one at a time. If `status` is not ok, the chunk does not go to the group, and
  // the operation fails with `status`. Code::system ends the group as well.
  void launch(std::size_t chunk, collectives::Group& group, const Status& status);

  // Drives a little. True: the operation is over, and results for a staged device have arrived.
  bool isCompleted() override;
  // Throws the operation's error. Throws DistBackendError if `timeout` passes; the operation then goes on. For a staged
  // device, wait() returns once the copies of results are queued, and the current stream waits for them.
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override { wait(kNoTimeout); }
  void abort() override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return outline_.results; }
  // Completes on a thread of its own (completions.h) if requested before the operation was over, because callbacks may
  // wait for other operations.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const override { return outline_.sequence; }

  // --- for dumps; any thread
  const OperationRecord& record() const { return record_; }  // without the outcome
  // The thread that is in wait() and came last, by pthread_self(); 0: none.
  std::uint64_t waiter() const { return waiter_.load(std::memory_order_relaxed); }
  // The group's Works of the chunks that were launched so far, in order. Null: a chunk did not reach the group.
  std::vector<collectives::WorkPtr> parts() const;

  TimePoint deadline() const { return outline_.deadline; }
  std::chrono::milliseconds timeout() const { return outline_.timeout; }
  // "railweave:all_reduce number 4 at rank 1 (1024 bytes of float)".
  std::string description() const;

 private:
  void chunk_over(std::size_t chunk, Status status);
  bool copies_back() const;
  void deliver(const Copies& copies);
  void one_less();
  void conclude() RW_NO_THREAD_SAFETY_ANALYSIS;  // called by the last part to end: no other thread writes
  void complete_future(const std::exception_ptr& failed);
  Status check_length(const collectives::Work& part) const;
  // Calls `each` for each chunk that was launched and reached the group.
  template <class Each>
  void each_part(Each each) const;

  const ProcessOrigin origin_;
  Outline outline_;
  OperationRecord record_;
  // Modes of the caller (inference, for example), for copies of results on other threads; none if there are no copies.
  std::optional<at::ThreadLocalState> callers_;
  std::size_t input_bytes_ = 0;
  std::string input_type_;
  std::vector<collectives::WorkPtr> parts_;  // by chunk; null: it did not reach the group
  std::atomic<std::size_t> launched_{0};     // entries of parts_ that may be read
  std::atomic<bool> aborted_{false};
  std::atomic<std::uint64_t> waiter_{0};
  std::atomic<std::size_t> in_flight_;                         // unfinished chunks, works in `after`, and begin()
  MarkPtr begin_;                                              // mark of the caller's stream at the call
  Mutex ends_mutex_;                                           // chunks may end on several threads at once
  Status status_ RW_GUARDED_BY(ends_mutex_);                   // the first error
  std::exception_ptr undelivered_ RW_GUARDED_BY(ends_mutex_);  // why results could not be copied
  // Mark of a staged device's last copy of results; null: none. Guarded by ends_mutex_ until the operation is over,
  // then constant.
  MarkPtr delivered_;
  std::function<void(const Status&)> over_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
  enum class Future { unasked, asked, completing };  // completing: by the thread that drove; no callbacks yet
  std::atomic<Future> future_is_{Future::unasked};
};

}  // namespace railweave::torch_ext
