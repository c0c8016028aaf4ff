// The process group backend "railweave": torch's operations over a collectives::Group (docs/guide/torch_backend.md).
//
// Source: torch/csrc/distributed/c10d/Backend.hpp (2.10 to 2.15; the old names are overridden, which works in all of
// them).
// Threads: any. Calls from several threads are taken in some order, which must be the same on every rank. The GIL is
// not needed and must not be held.
// Errors: a call throws if its own tensors are invalid; any later error is the Work's exception.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "torch_ext/csrc/deadlines.h"
#include "torch_ext/csrc/group_progress.h"
#include "torch_ext/csrc/in_flight.h"
#include "torch_ext/csrc/staging_queue.h"
#include "torch_ext/csrc/submission.h"

namespace railweave::torch_ext {

class RailweaveBackend final : public c10d::Backend {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  using Lists = std::vector<Tensors>;

  struct Options final : c10d::Backend::Options {
    explicit Options(std::chrono::milliseconds patience = kBackendDefaultTimeout, const std::string& name = "railweave")
        : c10d::Backend::Options(name, patience) {}
  };

  // Meets the other ranks through `store`; every rank calls it. Throws DistBackendError, with the ranks that did not
  // come within the timeout or with the configuration's error.
  RailweaveBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size, c10::intrusive_ptr<Options> options);
  ~RailweaveBackend() override { shutdown(); }

  const std::string getBackendName() const override { return options_->backend; }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  // Throws ValueError unless `timeout` is more than 0.
  void setTimeout(std::chrono::milliseconds timeout) override;
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_; }
  c10d::ErrorType getError() override { return error_->load(); }

  // --- calls_reduce.cc
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, Lists& inputs, const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  // --- calls_gather.cc
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allgather(Lists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(Lists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(Lists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, Lists& inputs, const c10d::ScatterOptions& options) override;
  // --- calls_exchange.cc
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  // --- barriers.cc
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all) override;

  void startCoalescing() override;
  WorkPtr endCoalescing() override;
  void waitForPendingWorks() override;
  // Makes a backend of these ranks of this one; returns null on the other ranks.
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                                          const c10::intrusive_ptr<c10d::Backend::Options>& options) override;
  // Sets RAILWEAVE_SCHEDULE's policy from the next operation on. Waits for the collectives that were called: every rank
  // must call it after the same one. Throws ValueError for an unknown policy.
  void schedule_by(const std::string& policy);
  // --- the end: later calls throw
  // Ends operations in flight; the other ranks are notified.
  void abort() override;
  // Ends in order: waits for collectives that were called, each up to its timeout, and ends unfinished messages.
  void shutdown() override;
  // Ends unfinished operations without waiting for them, and this backend's threads.
  void leave();
  // c10 calls it at the last strong reference, before the destructor, which waits for the registry's weak reference.
  void release_resources() override { shutdown(); }

 private:
  std::chrono::milliseconds timeout() const { return std::chrono::milliseconds(timeout_ms_); }
  std::shared_ptr<collectives::Group> group() const;
  struct Ready {
    c10::intrusive_ptr<RailweaveWork> work;
    std::vector<MarkPtr> marks;  // by chunk
    InFlight::Place place;
  };
  void count(bool counted, bool message, std::int64_t by) RW_REQUIRES(order_);
  // Numbers the operation. If an exception is thrown, the operation was not counted.
  Ready prepare(Outline& outline, bool counted) RW_REQUIRES(order_);
  void launch(Ready ready, const std::shared_ptr<collectives::Group>& group) RW_REQUIRES(order_);
  WorkPtr submit(Submission submission, std::chrono::milliseconds timeout, bool counted = true);
  WorkPtr receive(Tensors& tensors, int from, int tag, const Caller& caller, c10d::OpType type);
  Caller caller(const char* title) const { return {title, rank_, size_, whose_.get(), sequence_ + 1}; }
  Caller messenger(const char* title) const { return {title, rank_, size_, whose_.get(), 0}; }
  void check_root(std::int64_t root, const Caller& caller) const;
  TimePoint end_what_is_late();
  void end_late(const RailweaveWork& work);
  void await_collectives();
  std::shared_ptr<collectives::Group> end_group(const char* why);

  const ProcessOrigin origin_;
  const c10::intrusive_ptr<c10d::Store> store_;
  const c10::intrusive_ptr<Options> options_;
  std::atomic<std::int64_t> timeout_ms_;
  const std::shared_ptr<const std::string> whose_;  // the group's name, for errors; empty for the group of all ranks
  mutable Mutex group_mutex_;
  std::shared_ptr<collectives::Group> group_ RW_GUARDED_BY(group_mutex_);  // null after the end
  const char* ended_ RW_GUARDED_BY(group_mutex_) = "";                     // reason of the end
  // Makes calls reach the group in the order of their numbers. Recursive: a call may drive another operation to its
  // end, and a callback of that operation's Future may call again.
  RecursiveMutex order_;
  std::atomic<std::uint64_t> sequence_{0};              // collectives called so far
  std::uint64_t messages_ RW_GUARDED_BY(order_) = 0;    // called so far
  std::uint64_t operations_ RW_GUARDED_BY(order_) = 0;  // of both kinds called so far
  std::atomic<std::uint64_t> monitored_{0};             // monitored barriers so far
  const std::shared_ptr<InFlight> in_flight_ = std::make_shared<InFlight>();
  const std::shared_ptr<GroupProgress> progress_;
  const std::shared_ptr<std::atomic<c10d::ErrorType>> error_ =
      std::make_shared<std::atomic<c10d::ErrorType>>(c10d::ErrorType::SUCCESS);
  Mutex coalescing_mutex_;
  std::vector<WorkPtr> coalesced_ RW_GUARDED_BY(coalescing_mutex_);
  std::thread::id coalescing_ RW_GUARDED_BY(coalescing_mutex_);  // the thread that is coalescing; default: none
  // leave() ends their threads, which may need the GIL, without the GIL.
  StagingQueue staging_;
  Deadlines deadlines_{[this] { return end_what_is_late(); }};
};

}  // namespace railweave::torch_ext
