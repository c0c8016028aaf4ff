// An AccountMemory that several processes can map: a sealed memfd (base/sealed_memory.h).
// Threads: as a plain value.
#pragma once

#include <memory>

#include "base/fd.h"
#include "engine/credit/rail_account.h"
#include "railweave/status.h"

namespace railweave::engine {

struct AccountFile {
  OwnedFd fd{};                           // for other processes
  std::shared_ptr<AccountMemory> memory;  // the mapping; outlives the descriptor

  // Makes a new, empty account. Errors: exhausted (no memory or descriptors), system.
  static Result<AccountFile> make();
  // Maps an account received from another process. Errors: Code::remote when size or seals are wrong; system.
  static Result<AccountFile> adopt(OwnedFd fd);
  // True if both map the same memory.
  bool is_same(const AccountFile& other) const;
};

}  // namespace railweave::engine
