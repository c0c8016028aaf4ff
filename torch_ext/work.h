// One operation of torch's: one or several of the group's, copies when they are over, and its Future.
//
// Threads: any. It is over on the thread that drove the last of the group's Works; there results are copied out, or of
// a staged device the copies are given to its stream, then the Future is completed and the backend told.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "torch_ext/staging.h"
#include "torch_ext/tensors.h"

namespace railweave::torch_ext {

// What a Work is told of its operation, before it starts.
struct Outline {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "";                            // "railweave:all_reduce", in profiles and errors
  std::shared_ptr<const std::string> profile_title;  // instead, in profiles; null: the same
  int rank = 0;
  std::uint64_t sequence = 0;             // of the collectives before it, itself included
  bool counted = true;                    // a collective: messages have no number of their own
  std::chrono::milliseconds timeout{};    // of the whole operation
  TimePoint deadline = TimePoint::max();  // then it ends, and its group with it
  Tensors inputs;                         // as the caller gave them: for profiles
  Tensors results;                        // the Future's value
  Tensors memory;                         // kept until it is over
  StagedDevice* device = nullptr;         // of the tensors; null: the host
  Copies before;                          // by that device, before it is launched
  Copies copies;                          // when it is over well
  std::size_t message_bytes = 0;          // of a receive: what must have come
  bool is_receive = false;
  std::vector<c10::intrusive_ptr<c10d::Work>> after;  // over only when these are, well or badly
};

class RailweaveWork final : public c10d::Work {
 public:
  explicit RailweaveWork(Outline outline);
  ~RailweaveWork() override;
  // Before start(), on the caller's thread: gives the device the copies to the host. Null where there are none.
  MarkPtr fetch();
  // Once. `over`: called when it is over, on the thread that drove it. Not ok: it ends so, and has no parts.
  void start(std::vector<collectives::WorkPtr> parts, std::function<void(const Status&)> over, const Status& status);

  // Of a staged device: its results are there.
  bool isCompleted() override;
  // Throws what the operation ended with; a DistBackendError too when `timeout` passes: then the operation goes on. Of
  // a staged device it returns when the copies of the results are the stream's to do, and the current stream waits for
  // them.
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override { wait(kNoTimeout); }
  void abort() override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return outline_.results; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  uint64_t getSequencenumber() const override { return outline_.sequence; }

  TimePoint deadline() const { return outline_.deadline; }
  std::chrono::milliseconds timeout() const { return outline_.timeout; }
  // "railweave:all_reduce number 4 at rank 1 (1024 bytes of float)".
  std::string description() const;

 private:
  void part_over();
  void conclude();
  void deliver();
  void complete_future();
  Status outcome() const;

  Outline outline_;
  std::size_t input_bytes_ = 0;
  std::string input_type_;
  std::vector<collectives::WorkPtr> parts_;  // not to be looked at before
  std::atomic<bool> started_{false};
  std::atomic<bool> aborted_{false};
  Status refused_;
  std::atomic<int> unfinished_{0};
  MarkPtr begin_;      // of the caller's stream, at the call
  MarkPtr delivered_;  // of a staged device, once over: its results are there
  std::function<void(const Status&)> over_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace railweave::torch_ext
