#include "torch_ext/csrc/work.h"

#include <pthread.h>

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/scope_exit.h"
#include "torch_ext/csrc/completions.h"
#include "torch_ext/csrc/errors.h"
#include "torch_ext/csrc/gil.h"

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

OperationRecord record_of(const Outline& outline) {
  OperationRecord record;
  record.title = outline.title;
  record.id = outline.id;
  record.collectives = outline.sequence;
  record.messages = outline.messages;
  record.peer = outline.peer;
  record.called = outline.called;
  record.timeout_ms = outline.timeout.count();
  for (const at::Tensor& tensor : outline.inputs) record.inputs.add(tensor);
  for (const at::Tensor& tensor : outline.results) record.outputs.add(tensor);
  return record;
}

}  // namespace

RailweaveWork::RailweaveWork(Outline outline)
    : c10d::Work(outline.rank, outline.type, outline.profile_title ? outline.profile_title->c_str() : outline.title,
                 outline.inputs),
      outline_(std::move(outline)),
      record_(record_of(outline_)),
      parts_(outline_.chunks.size()),
      in_flight_(outline_.chunks.size() + outline_.after.size() + 1),
      future_(new_future(outline_.results)) {
  for (const at::Tensor& tensor : outline_.inputs) input_bytes_ += tensor.nbytes();
  if (!outline_.inputs.empty()) input_type_ = c10::str(" of ", outline_.inputs.front().dtype().name());
  outline_.inputs.clear();
  if (copies_back()) callers_.emplace();
}

bool RailweaveWork::copies_back() const {
  const auto copies = [](const Chunk& chunk) { return !chunk.after.empty(); };
  return !outline_.last.empty() || std::ranges::any_of(outline_.chunks, copies);
}

RailweaveWork::~RailweaveWork() {
  const WithoutGil released;
  parts_.clear();
}

std::vector<MarkPtr> RailweaveWork::fetch() {
  std::vector<MarkPtr> marks(outline_.chunks.size());
  if (outline_.device == nullptr) return marks;
  begin_ = outline_.device->mark();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const Copies& before = outline_.chunks[i].before;
    if (!before.empty()) marks[i] = outline_.device->copy(Way::to_host, *begin_, before);
  }
  return marks;
}

void RailweaveWork::begin(std::function<void(const Status&)> over) {
  over_ = std::move(over);
  const auto self = c10::intrusive_ptr<RailweaveWork>::reclaim_copy(this);
  for (const auto& earlier : outline_.after)
    earlier->getFuture()->addCallback([self](c10::ivalue::Future&) { self->one_less(); });
  one_less();
}

void RailweaveWork::launch(std::size_t chunk, collectives::Group& group, const Status& status) {
  if (!status.ok()) {
    if (status.code() == Code::system)  // the other ranks wait for this operation
      group.abort(c10::str(description(), ": ", status.message()));
    launched_.store(chunk + 1);
    return chunk_over(chunk, status);
  }
  collectives::WorkPtr part;
  try {
    collectives::Hints hints = outline_.hints;
    hints.part = outline_.chunks[chunk].elements << 56;
    if (outline_.chunks.size() > 1) hints.part |= std::uint64_t(outline_.chunks.size()) << 32 | chunk;
    part = outline_.chunks[chunk].call(group, hints);
  } catch (const std::exception& error) {  // out of memory: the other ranks wait
    return launch(chunk, group, Status(Code::system, Scope::session, error.what()));
  }
  parts_[chunk] = part;
  launched_.store(chunk + 1);
  if (aborted_) part->abort();
  const auto self = c10::intrusive_ptr<RailweaveWork>::reclaim_copy(this);
  part->when_over([self, chunk](const Status& over) { self->chunk_over(chunk, over); });
}

Status RailweaveWork::check_length(const collectives::Work& part) const {
  if (!outline_.is_receive || part.bytes() == outline_.message_bytes) return {};
  return Status(Code::invalid_argument, Scope::request,
                c10::str("rank ", part.source(), " sent ", part.bytes(), " bytes, and ", outline_.message_bytes,
                         " were expected"));
}

void RailweaveWork::chunk_over(std::size_t chunk, Status status) {
  if (status.ok()) status = check_length(*parts_[chunk]);
  if (status.ok()) {
    deliver(outline_.chunks[chunk].after);
  } else {
    const MutexLock lock(ends_mutex_);
    if (status_.ok()) status_ = status;
  }
  one_less();
}

void RailweaveWork::deliver(const Copies& copies) {
  if (copies.empty()) return;
  const MutexLock lock(ends_mutex_);  // held for the copies, so that the last mark on the stream stays
  try {
    const at::ThreadLocalStateGuard as_the_caller(*callers_);
    if (outline_.device != nullptr) {
      delivered_ = outline_.device->copy(Way::to_device, *begin_, copies);
      return;
    }
    const at::NoGradGuard no_grad;
    for (const auto& [to, from] : copies) to.copy_(from);
  } catch (...) {
    undelivered_ = std::current_exception();
  }
}

void RailweaveWork::one_less() {
  if (in_flight_.fetch_sub(1, std::memory_order_acq_rel) == 1) conclude();
}

void RailweaveWork::conclude() {
  if (status_.ok() && !undelivered_) deliver(outline_.last);
  const std::exception_ptr failed = status_.ok() ? undelivered_ : exception_of(status_, description());
  outline_.memory.clear();
  outline_.chunks.clear();
  outline_.last.clear();
  outline_.after.clear();
  std::exchange(over_, nullptr)(status_);  // before finish(): a failed Work implies a known group error
  finish(failed);
  Future unasked = Future::unasked;
  if (future_is_.compare_exchange_strong(unasked, Future::completing)) return complete_future(failed);
  run_on_future_thread(
      [self = c10::intrusive_ptr<RailweaveWork>::reclaim_copy(this), failed] { self->complete_future(failed); });
}

c10::intrusive_ptr<c10::ivalue::Future> RailweaveWork::getFuture() {
  Future found = Future::unasked;
  if (!future_is_.compare_exchange_strong(found, Future::asked) && found == Future::completing)
    // Takes a moment only. Without the wait, a callback that the caller adds could run on the thread that drove.
    while (!future_->completed()) std::this_thread::yield();
  return future_;
}

void RailweaveWork::complete_future(const std::exception_ptr& failed) {
  if (failed) return future_->setError(failed);
  const auto complete = [this] { future_->markCompleted(c10::IValue(outline_.results)); };
  if (outline_.device == nullptr) return complete();
  try {
    outline_.device->on_stream_to_device(complete);
  } catch (...) {
    if (!future_->completed()) future_->setError(std::current_exception());
  }
}

std::vector<collectives::WorkPtr> RailweaveWork::parts() const {
  return {parts_.begin(), parts_.begin() + std::ptrdiff_t(launched_.load())};
}

template <class Each>
void RailweaveWork::each_part(Each each) const {
  for (std::size_t i = 0; i < launched_; ++i)  // launched_ is read each time, because it may grow
    if (parts_[i]) each(*parts_[i]);
}

bool RailweaveWork::isCompleted() {
  each_part([](collectives::Work& part) { part.test(); });
  return c10d::Work::isCompleted() && (!delivered_ || delivered_->passed());
}

bool RailweaveWork::wait(std::chrono::milliseconds timeout) {
  if (origin_.in_child())
    check_ok(Status(Code::internal, Scope::engine, "called before this process was forked: wait for it in the parent"),
             description());
  const Nanos most = as_nanos(timeout);
  const TimePoint began = now();
  const auto left = [&] { return most == Nanos::max() ? most : std::max(Nanos{0}, most - (now() - began)); };
  waiter_.store(std::uint64_t(::pthread_self()), std::memory_order_relaxed);
  const ScopeExit no_waiter([this] { waiter_.store(0, std::memory_order_relaxed); });
  each_part([&](collectives::Work& part) { static_cast<void>(part.wait(left())); });
  std::unique_lock lock(mutex_);  // both are members of c10d::Work
  const auto over = [this] { return completed_; };
  if (most == Nanos::max()) {
    cv_.wait(lock, over);
  } else if (!cv_.wait_for(lock, left(), over)) {
    lock.unlock();
    check_ok(Status(Code::timed_out, Scope::request, c10::str("not over after ", timeout.count(), " ms of waiting")),
             description());
  }
  const std::exception_ptr failed = exception_;
  lock.unlock();
  if (future_is_ == Future::asked) future_->wait();  // the value is there, too; callbacks may still run
  if (failed) std::rethrow_exception(failed);
  if (delivered_) delivered_->hold_current_stream();
  return true;
}

void RailweaveWork::abort() {
  aborted_ = true;
  each_part([](collectives::Work& part) { part.abort(); });
}

int RailweaveWork::sourceRank() const {
  if (!outline_.is_receive) return c10d::Work::sourceRank();  // throws
  int source = -1;
  each_part([&](const collectives::Work& part) { source = part.source(); });
  return source;
}

std::string RailweaveWork::description() const {
  const std::string number = outline_.counted ? c10::str(" number ", outline_.sequence) : "";
  return c10::str(outline_.title, number, outline_.whom, " at rank ", rank_, outline_.whose ? *outline_.whose : "",
                  " (", input_bytes_, " bytes", input_type_, ")");
}

}  // namespace railweave::torch_ext
