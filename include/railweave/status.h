// Errors as values. A Status is OK, which costs nothing, or has the error's code, scope and message.
// Threads: const methods may be called from several threads at once. Copies are cheap: they share one allocation.
#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace railweave {

enum class Code {
  ok,
  invalid_argument,  // the caller passed something that can never work
  invalid_config,    // a RAILWEAVE_* or NCCL_* value is ill-formed or names nothing
  truncated,         // a send was larger than its receive, or ranks called operations that differ
  cancelled,         // aborted, deregistered or closed by this side
  remote,            // the peer failed, was lost, or sent malformed data
  left,              // the peer closed its end or sent GOODBYE; an error only for requests that still need the peer
  system,            // a system call failed
  timed_out,
  exhausted,  // a stated bound was reached (descriptors, streams, memory)
  internal,   // an invariant of this library is broken, or a forked child used its parent's engine
};

// How far an error reaches: everything inside the named object fails, and nothing else.
enum class Scope { request, stream, lane, session, engine };

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  // `message` names the thing, the value found and the value expected. `system_errno`: 0 where no system call failed.
  Status(Code code, Scope scope, std::string message, int system_errno = 0)
      : cause_(std::make_shared<const Cause>(Cause{code, scope, system_errno, std::move(message)})) {}

  bool ok() const { return cause_ == nullptr; }
  Code code() const { return cause_ ? cause_->code : Code::ok; }
  Scope scope() const { return cause_ ? cause_->scope : Scope::request; }
  int system_errno() const { return cause_ ? cause_->system_errno : 0; }
  const std::string& message() const {
    static const std::string kOk = "ok";
    return cause_ ? cause_->message : kOk;
  }

 private:
  struct Cause {
    Code code;
    Scope scope;
    int system_errno;
    std::string message;
  };
  std::shared_ptr<const Cause> cause_;
};

// A value, or the Status that says why there is no value.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by intent
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) { assert(!std::get<1>(v_).ok()); }  // NOLINT

  bool ok() const { return v_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(v_); }
  // REQUIRES: ok().
  T& value() { return std::get<0>(v_); }
  const T& value() const { return std::get<0>(v_); }
  T* operator->() { return &value(); }
  T& operator*() { return value(); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace railweave
