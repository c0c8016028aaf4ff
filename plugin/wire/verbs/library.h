// Loads libibverbs at run time, so that no shipped library depends on libibverbs. The library is loaded once for the
// process and never unloaded, because its providers start threads and register handlers.
// Threads: any. Source of the names and versions of symbols: libibverbs.map of rdma-core.
#pragma once

#include <functional>

#include "railweave/status.h"
#include "wire/verbs/api.h"

namespace railweave::wire::verbs {

// Returns the address of a symbol of this version; null: there is none.
using SymbolLookup = std::function<void*(const char* symbol, const char* version)>;

// Fills a table. Only symbols of IBVERBS_1.1 and older are required.
// Errors: invalid_config, naming the first symbol that is missing.
Result<Api> bind_api(const SymbolLookup& lookup);

// Lets the process fork while memory is registered, unless the kernel copies such memory at a fork.
void prepare_for_fork(const Api& api);

// Returns the table of this process, ready for fork(). The first call loads the library.
// Errors: invalid_config (no such library, or a symbol is missing; the message names the packages).
Result<const Api*> load_library();

}  // namespace railweave::wire::verbs
