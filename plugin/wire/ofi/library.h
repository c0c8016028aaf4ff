// The functions of libfabric that have symbols, found in the library at run time. All other functions of libfabric are
// inline in its headers: they call through tables of the objects that fi_getinfo and fi_fabric lead to. So a test
// replaces the whole library with a table of this kind.
//
// Lifetime: a loaded library stays loaded, because libfabric starts threads. Threads: any.
// Source: the versions of symbols are those of libfabric 1.17's headers; later libraries keep them.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <functional>
#include <string>

#include "railweave/status.h"

namespace railweave::wire::ofi {

// The version of the interface that this wire asks for, and the oldest library that has it.
inline constexpr std::uint32_t kApiVersion = FI_VERSION(1, 17);

struct Library {
  std::string path;  // as dlopen() got it
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  // Returns the text of an error number, positive or negative.
  std::string error_text(std::int64_t error) const { return strerror(int(error < 0 ? -error : error)); }
  // Returns "libfabric 1.17".
  std::string name() const;
};

// Returns the address of a symbol of one version; null: the library has none.
using SymbolLookup = std::function<void*(const char* name, const char* version)>;

// Fills the table. Errors: Code::invalid_config: a missing symbol, or a library that is too old.
Result<Library> resolve(const std::string& path, const SymbolLookup& lookup);

// Loads the library, once in a process. `path`: empty: libfabric.so.1 of the system.
// Errors: Code::invalid_config: as resolve(); no such library; a process that has loaded another one.
Result<const Library*> load_library(const std::string& path);

}  // namespace railweave::wire::ofi
