// The key that all hosts of a job share (RAILWEAVE_KEY_FILE, docs/operate/admission.md). The file is read once. Only a
// value derived from its text stays in memory, and is wiped at the end.
#pragma once

#include <string>

#include "engine/admission/secret.h"
#include "railweave/status.h"

namespace railweave::engine {

class SharedKey {
 public:
  static constexpr std::size_t kBytesMin = 16, kBytesMax = 4096;

  // Reads the key from a regular file that root or our own user owns, and that grants nothing to group and others. A
  // file of root may be readable for one of our groups (a Secret of Kubernetes under fsGroup). The key has 16 to 4096
  // bytes; one newline at the end of the file is not part of it. Never waits, whatever the path names. Errors:
  // Code::invalid_config, with the path, what was found and what was expected.
  static Result<SharedKey> read(const std::string& path);
  // Makes the key from its text. REQUIRES: kBytesMin to kBytesMax bytes. Errors: Code::exhausted.
  static Result<SharedKey> of(std::span<const std::byte> text);

  const Secret& secret() const { return secret_; }

 private:
  explicit SharedKey(const Secret& secret) : secret_(secret) {}

  Secret secret_;
};

}  // namespace railweave::engine
