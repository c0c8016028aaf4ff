#include "wire/ofi/wire.h"

#include <cassert>

#include "wire/ofi/port.h"

namespace railweave::wire {
namespace {

class OfiWire final : public Wire {
 public:
  std::string_view name() const override { return "ofi"; }
  Reach reach() const override { return Reach::between_hosts; }
  Result<std::unique_ptr<Port>> open(const Rail* rail, [[maybe_unused]] const Config& config) const override {
    assert(rail);
#if __has_include(<rdma/fabric.h>)
    ofi::PortOptions options;
    options.library = config.ofi_library;
    return ofi::open_port(*rail, options);
#else
    return Status(Code::invalid_config, Scope::engine,
                  "this build has no wire ofi: install libfabric's headers (Debian's package libfabric-dev), and build "
                  "Railweave again");
#endif
  }
};

}  // namespace

const Wire& ofi_wire() {
  static const OfiWire wire;
  return wire;
}

}  // namespace railweave::wire
