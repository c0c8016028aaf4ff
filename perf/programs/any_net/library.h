// A net plugin's library, loaded.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "any_net/net.h"
#include "railweave/status.h"

namespace railweave::any_net {

// Unloads the library at its end: what came from it must be gone by then.
class Library {
 public:
  // Errors: invalid_argument, with dlerror's text.
  static Result<Library> open(const std::string& path);
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&&) = delete;
  ~Library();

  // Errors: invalid_argument when it exports no table of that version.
  Result<std::unique_ptr<Net>> net(int version) const;
  // The newest version it exports. Errors: invalid_argument when there is none.
  Result<std::unique_ptr<Net>> newest_net() const;

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace railweave::any_net
