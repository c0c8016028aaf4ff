#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/port.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "wire/message/pending_lane.h"
#include "wire/ofi/channel.h"
#include "wire/ofi/endpoint_thread.h"
#include "wire/ofi/library.h"
#include "wire/ofi/provider.h"

namespace railweave::wire::ofi {
namespace {

// The longest time that the reactor waits for an endpoint.
constexpr Nanos kOpenPatience = std::chrono::milliseconds(200);

class OfiPort final : public Port {
 public:
  OfiPort(std::shared_ptr<EndpointThread> thread, std::string rail)
      : thread_(std::move(thread)), rail_(std::move(rail)) {}

  Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
    std::uint32_t token = 0;
    RW_TRY(fill_with_random(std::as_writable_bytes(std::span(&token, 1))));
    RW_ASSIGN_OR_RETURN(auto endpoint, thread_->open(kOpenPatience));
    auto channel = std::make_unique<OfiChannel>(thread_, std::move(endpoint), role, token);
    return std::unique_ptr<PendingLane>(
        std::make_unique<message::PendingMessageLane>(std::move(channel), rail_, "ofi"));
  }

 private:
  const std::shared_ptr<EndpointThread> thread_;
  const std::string rail_;
};

}  // namespace

Result<std::unique_ptr<Port>> open_port(const Rail& rail, const PortOptions& options, const Library& library) {
  RW_ASSIGN_OR_RETURN(Provider provider, choose_provider(library, rail, options.providers));
  RW_INFO(net, "rail {}: provider {} of {} ({}), {}", rail.name, provider.name(), library.name(), library.path,
          provider.needs_polling() ? "polled" : "with events");
  RW_ASSIGN_OR_RETURN(auto thread, EndpointThread::start(library, std::move(provider)));
  return std::unique_ptr<Port>(std::make_unique<OfiPort>(std::move(thread), rail.name));
}

Result<std::unique_ptr<Port>> open_port(const Rail& rail, const PortOptions& options) {
  RW_ASSIGN_OR_RETURN(const Library* library, load_library(options.library));
  return open_port(rail, options, *library);
}

}  // namespace railweave::wire::ofi
#endif
