// Several Works as one, as returned by endCoalescing(). Threads: any.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <vector>

namespace railweave::torch_ext {

// Over when all Works are over; fails with the error of the first one, in order, that failed.
class WorkOfAll final : public c10d::Work {
 public:
  WorkOfAll(int rank, std::vector<c10::intrusive_ptr<c10d::Work>> works);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override { wait(kNoTimeout); }
  // Returns the source of the one receive among the works. Throws if there is none, or if there are several.
  int sourceRank() const override;
  void abort() override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  const std::vector<c10::intrusive_ptr<c10d::Work>> works_;
};

}  // namespace railweave::torch_ext
