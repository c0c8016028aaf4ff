// Makes a Status from errno, and returns errors to the caller (RW_TRY, RW_ASSIGN_OR_RETURN).
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "railweave/status.h"

namespace railweave {

// Returns Code::system with the message "what: strerror (errno N)". `what` names the call and its object.
Status system_error(Scope scope, std::string what, int err = errno);

inline Status status_of(Status status) { return status; }
template <class T>
Status status_of(const Result<T>& result) {
  return result.status();
}

}  // namespace railweave

#define RW_CONCAT_INNER(a, b) a##b
#define RW_CONCAT(a, b) RW_CONCAT_INNER(a, b)

// Returns from the enclosing function with the error of `expr` (a Status or a Result), if `expr` is an error.
#define RW_TRY(expr) RW_TRY_AS(RW_CONCAT(rw_status_, __COUNTER__), expr)
#define RW_TRY_AS(name, expr)                                              \
  do {                                                                     \
    if (auto name = ::railweave::status_of(expr); !name.ok()) return name; \
  } while (false)

// RW_ASSIGN_OR_RETURN(auto lane, open_lane(...)): returns the error of the Result, or moves the value into `decl`.
// The macro is several statements. REQUIRES: not the body of an unbraced if.
#define RW_ASSIGN_OR_RETURN(decl, expr) RW_ASSIGN_OR_RETURN_AS(RW_CONCAT(rw_result_, __COUNTER__), decl, expr)
#define RW_ASSIGN_OR_RETURN_AS(name, decl, expr) \
  auto name = (expr);                            \
  if (!name.ok()) return name.status();          \
  decl = std::move(name.value())
