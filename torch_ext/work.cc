#include "torch_ext/work.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <c10/util/StringUtil.h>

#include "base/clock.h"
#include "torch_ext/errors.h"
#include "torch_ext/gil.h"

namespace railweave::torch_ext {
namespace {

c10::intrusive_ptr<c10::ivalue::Future> new_future(const Tensors& results) {
  std::vector<c10::Device> devices;
  if (!results.empty() && !results.front().device().is_cpu()) devices.push_back(results.front().device());
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), std::move(devices));
}

Nanos as_nanos(std::chrono::milliseconds timeout) {
  const bool none = timeout <= std::chrono::milliseconds::zero() || timeout > std::chrono::hours(24 * 365);
  return none ? Nanos::max() : Nanos(timeout);
}

}  // namespace

RailweaveWork::RailweaveWork(Outline outline)
    : c10d::Work(outline.rank, outline.type, outline.profile_title ? outline.profile_title->c_str() : outline.title,
                 outline.inputs),
      outline_(std::move(outline)),
      future_(new_future(outline_.results)) {
  for (const at::Tensor& tensor : outline_.inputs) input_bytes_ += tensor.nbytes();
  if (!outline_.inputs.empty()) input_type_ = c10::str(" of ", outline_.inputs.front().dtype().name());
  outline_.inputs.clear();
}

RailweaveWork::~RailweaveWork() {
  const WithoutGil released;
  parts_.clear();
}

MarkPtr RailweaveWork::fetch() {
  if (outline_.device == nullptr) return nullptr;
  begin_ = outline_.device->mark();
  return outline_.before.empty() ? nullptr : outline_.device->copy(Way::to_host, *begin_, outline_.before);
}

void RailweaveWork::start(std::vector<collectives::WorkPtr> parts, std::function<void(const Status&)> over,
                          const Status& status) {
  over_ = std::move(over);
  parts_ = std::move(parts);
  refused_ = status;
  unfinished_ = int(parts_.size()) + int(outline_.after.size()) + 1;
  started_ = true;
  if (aborted_) abort();
  const auto self = c10::intrusive_ptr<RailweaveWork>::reclaim_copy(this);
  for (const auto& part : parts_) part->when_over([self](const Status&) { self->part_over(); });
  for (const auto& earlier : outline_.after)
    earlier->getFuture()->addCallback([self](c10::ivalue::Future&) { self->part_over(); });
  part_over();
}

void RailweaveWork::part_over() {
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) conclude();
}

Status RailweaveWork::outcome() const {
  if (!refused_.ok()) return refused_;
  for (const auto& part : parts_)
    if (!part->status().ok()) return part->status();
  if (outline_.is_receive && parts_.front()->bytes() != outline_.message_bytes) {
    return Status(Code::invalid_argument, Scope::request,
                  c10::str("rank ", parts_.front()->source(), " sent ", parts_.front()->bytes(), " bytes, and ",
                           outline_.message_bytes, " were expected"));
  }
  return {};
}

void RailweaveWork::conclude() {
  std::exception_ptr failed;
  const Status status = outcome();
  if (!status.ok()) {
    failed = exception_of(status, description());
  } else {
    try {
      deliver();
    } catch (...) {
      failed = std::current_exception();
    }
  }
  outline_.memory.clear();
  outline_.before.clear();
  outline_.copies.clear();
  outline_.after.clear();
  finish(failed);
  std::exchange(over_, nullptr)(status);
  if (failed) {
    future_->setError(failed);
  } else {
    complete_future();
  }
}

void RailweaveWork::deliver() {
  if (outline_.copies.empty()) return;
  if (outline_.device != nullptr) {
    delivered_ = outline_.device->copy(Way::to_device, *begin_, outline_.copies);
    return;
  }
  const at::NoGradGuard no_grad;
  for (const auto& [to, from] : outline_.copies) to.copy_(from);
}

void RailweaveWork::complete_future() {
  const auto complete = [this] { future_->markCompleted(c10::IValue(outline_.results)); };
  if (outline_.device == nullptr) return complete();
  try {
    outline_.device->on_stream_to_device(complete);
  } catch (...) {
    if (!future_->completed()) future_->setError(std::current_exception());
  }
}

bool RailweaveWork::isCompleted() {
  if (started_)
    for (const auto& part : parts_) part->test();
  return c10d::Work::isCompleted() && (!delivered_ || delivered_->passed());
}

bool RailweaveWork::wait(std::chrono::milliseconds timeout) {
  const Nanos most = as_nanos(timeout);
  const TimePoint began = now();
  const auto left = [&] { return most == Nanos::max() ? most : std::max(Nanos{0}, most - (now() - began)); };
  if (started_)
    for (const auto& part : parts_) static_cast<void>(part->wait(left()));
  std::unique_lock lock(mutex_);
  const auto over = [this] { return completed_; };
  if (most == Nanos::max()) {
    cv_.wait(lock, over);
  } else if (!cv_.wait_for(lock, left(), over)) {
    lock.unlock();
    check_ok(Status(Code::timed_out, Scope::request, c10::str("not over after ", timeout.count(), " ms of waiting")),
             description());
  }
  if (exception_) std::rethrow_exception(exception_);
  if (delivered_) delivered_->hold_current_stream();
  return true;
}

void RailweaveWork::abort() {
  aborted_ = true;
  if (!started_) return;
  for (const auto& part : parts_) part->abort();
}

int RailweaveWork::sourceRank() const { return parts_.empty() ? -1 : parts_.front()->source(); }

std::string RailweaveWork::description() const {
  const std::string number = outline_.counted ? c10::str(" number ", outline_.sequence) : "";
  return c10::str(outline_.title, number, " at rank ", rank_, " (", input_bytes_, " bytes",
                  input_type_, ")");
}

}  // namespace railweave::torch_ext
