#include "wire/verbs/wire.h"

#include <cassert>

#if __has_include(<infiniband/verbs.h>)
#include "base/error.h"
#include "wire/verbs/library.h"
#include "wire/verbs/pinned_memory.h"
#include "wire/verbs/port.h"
#include "wire/verbs/queue_pair.h"
#endif

namespace railweave::wire {
namespace {

class VerbsWire final : public Wire {
 public:
  std::string_view name() const override { return "verbs"; }
  Reach reach() const override { return Reach::between_hosts; }
  PinnedBytes pinned_bytes() const override {
#if __has_include(<infiniband/verbs.h>)
    // A queue pair is made in advance on each rail.
    return {verbs::kLaneBytes, verbs::kLaneBytes, verbs::PinnedMemory::bound_bytes(verbs::pin_limit_bytes())};
#else
    return {};
#endif
  }
  Result<std::unique_ptr<Port>> open(const Rail* rail, [[maybe_unused]] const Config& config) const override {
    assert(rail);
#if __has_include(<infiniband/verbs.h>)
    RW_ASSIGN_OR_RETURN(const verbs::Api* const api, verbs::load_library());
    return verbs::open_port(verbs::this_host(*api), *rail, config);
#else
    return Status(Code::invalid_config, Scope::engine,
                  "this build has no wire verbs: install libibverbs' headers (Debian's package libibverbs-dev), and "
                  "build Railweave again");
#endif
  }
};

}  // namespace

const Wire& verbs_wire() {
  static const VerbsWire wire;
  return wire;
}

}  // namespace railweave::wire
