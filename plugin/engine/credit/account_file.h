// An AccountMemory that several processes can map: a sealed memfd (base/sealed_memory.h).
// Threads: as for a value.
#pragma once

#include <memory>

#include "base/fd.h"
#include "engine/credit/rail_account.h"
#include "railweave/status.h"

namespace railweave::engine {

struct AccountFile {
  OwnedFd fd{};                           // to be passed on
  std::shared_ptr<AccountMemory> memory;  // the mapping; outlives the descriptor

  // A new one. Errors: exhausted (no memory or descriptors), system.
  static Result<AccountFile> make();
  // One that came from another process. Errors: Code::remote when its size or its seals are not what they must be;
  // system.
  static Result<AccountFile> adopt(OwnedFd fd);
  // Both map the same memory.
  bool is_same(const AccountFile& other) const;
};

}  // namespace railweave::engine
