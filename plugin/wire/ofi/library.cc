#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"

namespace railweave::wire::ofi {
namespace {

constexpr const char* kSystemLibrary = "libfabric.so.1";

Status unusable(std::string message) { return Status(Code::invalid_config, Scope::engine, std::move(message)); }

std::string version_text(std::uint32_t version) { return fmt::format("{}.{}", FI_MAJOR(version), FI_MINOR(version)); }

template <class Function>
Status find(const std::string& path, const SymbolLookup& lookup, const char* name, const char* version, Function& to) {
  to = reinterpret_cast<Function>(lookup(name, version));
  if (to) return {};
  return unusable(
      fmt::format("{} has no symbol {} of version {}: libfabric {} or later is needed (Debian's package "
                  "libfabric1 has it)",
                  path, name, version, version_text(kApiVersion)));
}

Result<Library> open_library(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = ::dlerror();
    return unusable(fmt::format("cannot load {}: {}. Install libfabric (Debian's package libfabric1)", path,
                                why ? why : "no reason given"));
  }
  return resolve(path, [handle](const char* name, const char* version) { return ::dlvsym(handle, name, version); });
}

}  // namespace

std::string Library::name() const { return "libfabric " + version_text(version()); }

Result<Library> resolve(const std::string& path, const SymbolLookup& lookup) {
  Library library;
  library.path = path;
  RW_TRY(find(path, lookup, "fi_getinfo", "FABRIC_1.3", library.getinfo));
  RW_TRY(find(path, lookup, "fi_freeinfo", "FABRIC_1.3", library.freeinfo));
  RW_TRY(find(path, lookup, "fi_dupinfo", "FABRIC_1.3", library.dupinfo));
  RW_TRY(find(path, lookup, "fi_fabric", "FABRIC_1.1", library.fabric));
  RW_TRY(find(path, lookup, "fi_strerror", "FABRIC_1.0", library.strerror));
  RW_TRY(find(path, lookup, "fi_version", "FABRIC_1.0", library.version));
  if (FI_VERSION_GE(library.version(), kApiVersion)) return library;
  return unusable(fmt::format("{} is {}, too old: libfabric {} or later is needed", path, library.name(),
                              version_text(kApiVersion)));
}

Result<const Library*> load_library(const std::string& path) {
  static Mutex mutex;
  static const Library* loaded = nullptr;  // never freed: threads of libfabric outlive static objects
  const std::string wanted = path.empty() ? kSystemLibrary : path;
  const MutexLock lock(mutex);
  if (!loaded) {
    RW_ASSIGN_OR_RETURN(Library library, open_library(wanted));
    loaded = std::make_unique<const Library>(std::move(library)).release();
  }
  if (loaded->path == wanted) return loaded;
  return unusable(fmt::format("this process has loaded {}, and cannot load {} beside it", loaded->path, wanted));
}

}  // namespace railweave::wire::ofi
#endif
