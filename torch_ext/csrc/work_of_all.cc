#include "torch_ext/csrc/work_of_all.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace railweave::torch_ext {

WorkOfAll::WorkOfAll(int rank, std::vector<c10::intrusive_ptr<c10d::Work>> works)
    : c10d::Work(rank, c10d::OpType::COALESCED), works_(std::move(works)) {}

bool WorkOfAll::isCompleted() {
  return std::ranges::all_of(works_, [](const auto& work) { return work->isCompleted(); });
}

bool WorkOfAll::isSuccess() const {
  return std::ranges::all_of(works_, [](const auto& work) { return work->isSuccess(); });
}

std::exception_ptr WorkOfAll::exception() const {
  for (const auto& work : works_)
    if (auto failed = work->exception()) return failed;
  return nullptr;
}

bool WorkOfAll::wait(std::chrono::milliseconds timeout) {
  const TimePoint began = now();
  for (const auto& work : works_) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now() - began);
    work->wait(timeout == kNoTimeout ? timeout : std::max(timeout - waited, std::chrono::milliseconds(1)));
  }
  return true;
}

int WorkOfAll::sourceRank() const {
  std::vector<int> sources;
  for (const auto& work : works_)
    if (c10d::isP2POp(work->retrieveOpType()) && work->retrieveOpType() != c10d::OpType::SEND)
      sources.push_back(work->sourceRank());
  TORCH_CHECK(sources.size() == 1, "source rank of ", works_.size(),
              " operations: expected one receive among them, found ", sources.size());
  return sources.front();
}

void WorkOfAll::abort() {
  for (const auto& work : works_) work->abort();
}

std::vector<at::Tensor> WorkOfAll::result() {
  std::vector<at::Tensor> all;
  for (const auto& work : works_)
    for (auto& tensor : work->result()) all.push_back(std::move(tensor));
  return all;
}

c10::intrusive_ptr<c10::ivalue::Future> WorkOfAll::getFuture() {
  c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(c10::FutureType::create(c10::ListType::ofTensors()));
  for (const auto& work : works_) futures.push_back(work->getFuture());
  return c10::collectAll(futures)->then(
      [all = result()](c10::ivalue::Future& done) {
        if (done.hasError()) std::rethrow_exception(done.exception_ptr());
        return c10::IValue(all);
      },
      c10::ListType::ofTensors());
}

}  // namespace railweave::torch_ext
