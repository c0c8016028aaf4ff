// The loaded library of a net plugin.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "any_net/net.h"
#include "railweave/status.h"

namespace railweave::any_net {

// Unloads the library when destroyed. REQUIRES: everything obtained from the library is gone by then.
class Library {
 public:
  // Errors: invalid_argument, with dlerror's text.
  static Result<Library> open(const std::string& path);
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&&) = delete;
  ~Library();

  // Errors: invalid_argument if the library exports no table of that version.
  Result<std::unique_ptr<Net>> net(int version) const;
  // Returns the newest version that the library exports. Errors: invalid_argument if there is none.
  Result<std::unique_ptr<Net>> newest_net() const;

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace railweave::any_net
