// One operation of torch's: one or several of the group's (its chunks), copies before and after each, and its Future.
//
// Threads: any. What a chunk brought is copied out on the thread that drove it, or of a staged device the copies are
// given to its stream; on the thread of the last one the backend is told, and the Future completed that nobody asked
// for yet.
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
#include "torch_ext/csrc/staging.h"
#include "torch_ext/csrc/tensors.h"

namespace railweave::torch_ext {

// A part of an operation that goes by itself: while it is on the wire the next may be copied.
struct Chunk {
  Copies before;  // by a staged device; then it is called
  std::function<collectives::WorkPtr(collectives::Group&, const collectives::Hints&)> call;
  Copies after;                // when that is over well
  std::uint64_t elements = 0;  // 1 + their dtype, where they go as bytes: ranks whose dtypes differ find out
};

// What a Work is told of its operation, before it begins.
struct Outline {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "";                            // "railweave:all_reduce", in profiles and errors
  std::shared_ptr<const std::string> whose;          // " of group ...", in errors; null: nothing
  std::shared_ptr<const std::string> profile_title;  // instead, in profiles; null: the same
  std::string whom;                                  // of a message: " from rank 3, tag 7", in errors
  int rank = 0;
  std::uint64_t sequence = 0;             // of the collectives before it, itself included
  bool counted = true;                    // a collective: messages have no number of their own
  collectives::Hints hints;               // of the thread that called
  std::chrono::milliseconds timeout{};    // of the whole operation
  TimePoint deadline = TimePoint::max();  // then it ends, and its group with it
  Tensors inputs;                         // as the caller gave them: for profiles
  Tensors results;                        // the Future's value
  Tensors memory;                         // kept until it is over
  StagedDevice* device = nullptr;         // of the tensors; null: the host
  std::vector<Chunk> chunks;
  Copies last;                    // by that device, after those of all chunks
  std::size_t message_bytes = 0;  // of a receive: what must have come
  bool is_receive = false;
  std::vector<c10::intrusive_ptr<c10d::Work>> after;  // over only when these are, well or badly
};

class RailweaveWork final : public c10d::Work {
 public:
  explicit RailweaveWork(Outline outline);
  ~RailweaveWork() override;
  // First, on the caller's thread: gives the device the copies to the host. By chunk when it may be launched; null: at
  // once.
  std::vector<MarkPtr> fetch();
  // Then. `over`: called when it is over, on the thread that drove it.
  void begin(std::function<void(const Status&)> over);
  // Then, for each chunk in order, one at a time. Not ok: it does not go to the group, and the operation ends so.
  void launch(std::size_t chunk, collectives::Group& group, const Status& status);

  // The operation is over, and for a staged device its results are there.
  bool isCompleted() override;
  // Throws what the operation ended with; a DistBackendError too when `timeout` passes: then the operation goes on. Of
  // a staged device it returns when the copies of the results are the stream's to do, and the current stream waits for
  // them.
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override { wait(kNoTimeout); }
  void abort() override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return outline_.results; }
  // Completed on a thread of its own (completions.h) if it was asked for before the operation was over: what hangs on
  // it may wait for others.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const override { return outline_.sequence; }

  TimePoint deadline() const { return outline_.deadline; }
  std::chrono::milliseconds timeout() const { return outline_.timeout; }
  // "railweave:all_reduce number 4 at rank 1 (1024 bytes of float)".
  std::string description() const;

 private:
  void chunk_over(std::size_t chunk, Status status);
  bool copies_back() const;
  void deliver(const Copies& copies);
  void one_less();
  void conclude() RW_NO_THREAD_SAFETY_ANALYSIS;  // of the last to end: nobody else is there who would write
  void complete_future(const std::exception_ptr& failed);
  Status check_length(const collectives::Work& part) const;
  // Calls `each` for each chunk that was launched and reached the group.
  template <class Each>
  void each_part(Each each) const;

  const ProcessOrigin origin_;
  Outline outline_;
  // The caller's modes (inference, say), for copies of results on whatever thread; only where there are some.
  std::optional<at::ThreadLocalState> callers_;
  std::size_t input_bytes_ = 0;
  std::string input_type_;
  std::vector<collectives::WorkPtr> parts_;  // by chunk; null: it did not reach the group
  std::atomic<std::size_t> launched_{0};     // of parts_: those that may be looked at
  std::atomic<bool> aborted_{false};
  std::atomic<std::size_t> in_flight_;                         // chunks, `after`, begin()
  MarkPtr begin_;                                              // of the caller's stream, at the call
  Mutex ends_mutex_;                                           // chunks may end on several threads at once
  Status status_ RW_GUARDED_BY(ends_mutex_);                   // the first error
  std::exception_ptr undelivered_ RW_GUARDED_BY(ends_mutex_);  // why results could not be copied
  // The mark of a staged device's last copy of results, once over; null: none. Guarded by ends_mutex_ until it is over.
  MarkPtr delivered_;
  std::function<void(const Status&)> over_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
  enum class Future { unasked, asked, completing };  // completing: by whoever drove, and nothing hangs on it
  std::atomic<Future> future_is_{Future::unasked};
};

}  // namespace railweave::torch_ext
