#include "engine/credit/account_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "base/error.h"
#include "base/sealed_memory.h"

namespace railweave::engine {
namespace {

constexpr std::size_t kBytes = sizeof(AccountMemory);

// Zeroed memory is an account without lanes. Any other content is a valid account, too: the memory holds only atomic
// numbers.
Result<AccountFile> map(OwnedFd fd) {
  void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return memory_error("mmap");
  std::shared_ptr<AccountMemory> memory(static_cast<AccountMemory*>(at),
                                        [](AccountMemory* mapped) { ::munmap(mapped, kBytes); });
  return AccountFile{std::move(fd), std::move(memory)};
}

}  // namespace

Result<AccountFile> AccountFile::make() {
  RW_ASSIGN_OR_RETURN(OwnedFd fd, make_sealed_memory(kBytes, "railweave-account"));
  return map(std::move(fd));
}

Result<AccountFile> AccountFile::adopt(OwnedFd fd) {
  RW_TRY(check_sealed_memory(fd.get(), kBytes));
  return map(std::move(fd));
}

bool AccountFile::is_same(const AccountFile& other) const {
  struct stat mine {
  }, its{};
  return ::fstat(fd.get(), &mine) == 0 && ::fstat(other.fd.get(), &its) == 0 && mine.st_dev == its.st_dev &&
         mine.st_ino == its.st_ino;
}

}  // namespace railweave::engine
