#include "any_net/library.h"

#include <dlfcn.h>

namespace railweave::any_net {
namespace {

Status refused(std::string why) { return Status(Code::invalid_argument, Scope::engine, std::move(why)); }

}  // namespace

Result<Library> Library::open(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return refused(dlerror());
  return Library(handle);
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Result<std::unique_ptr<Net>> Library::net(int version) const {
  const char* const symbol = symbol_of(version);
  if (!symbol) return refused("no net API version " + std::to_string(version));
  const void* const table = dlsym(handle_, symbol);
  if (!table) return refused(std::string("no symbol ") + symbol);
  return net_over(table, version);
}

Result<std::unique_ptr<Net>> Library::newest_net() const {
  for (int version = abi::kNewestVersion; version >= abi::kOldestVersion; --version) {
    if (auto found = net(version); found.ok()) return found;
  }
  return refused(std::string("exports no table from ") + symbol_of(abi::kOldestVersion) + " to " +
                 symbol_of(abi::kNewestVersion));
}

}  // namespace railweave::any_net
