#include "net_perf/links.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "common/idle.h"

namespace railweave::perf::net_perf {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(30);
constexpr int kPollAgainUs = 200;  // without a pause, many programs that start at once keep one another from connecting
using nccl::abi::kHandleMaxBytes;

bool all_there(const std::vector<void*>& comms) {
  return std::none_of(comms.begin(), comms.end(), [](void* comm) { return comm == nullptr; });
}

}  // namespace

Result<Links> Links::open(Plugin& plugin, ControlConnection& control, int outgoing, int incoming) {
  Links links(plugin);
  RW_ASSIGN_OR_RETURN(const std::string mine, links.listen_all(incoming));
  RW_ASSIGN_OR_RETURN(std::string theirs, control.exchange(mine));
  if (theirs.size() != std::size_t(outgoing) * kHandleMaxBytes) {
    return Status(Code::invalid_argument, Scope::engine, "the other rank was started with other options");
  }
  links.sends_.resize(std::size_t(outgoing));
  links.receives_.resize(std::size_t(incoming));
  RW_TRY(links.connect_all(std::move(theirs), control));
  links.close_listeners();
  RW_TRY(control.barrier());
  return links;
}

Result<std::string> Links::listen_all(int incoming) {
  std::string handles(std::size_t(incoming) * kHandleMaxBytes, '\0');
  for (int i = 0; i < incoming; ++i) {
    void* comm = nullptr;
    char* handle = handles.data() + std::size_t(i) * kHandleMaxBytes;
    RW_TRY(status_of_call(plugin_->net().listen(plugin_->context(), plugin_->device(), handle, &comm), "listen"));
    listeners_.push_back(comm);
  }
  return handles;
}

// `handles` stays in place across retries: plugins keep the state of a connect in the handle.
Status Links::connect_all(std::string handles, ControlConnection& control) {
  Net& net = plugin_->net();
  const TimePoint give_up = now() + kPatience;
  while (!all_there(sends_) || !all_there(receives_)) {
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      if (sends_[i] != nullptr) continue;
      const auto code = net.connect(plugin_->context(), plugin_->device(), nccl::abi::kTrafficClassUndefined,
                                    handles.data() + i * kHandleMaxBytes, &sends_[i]);
      RW_TRY(status_of_call(code, "connect"));
    }
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      if (receives_[i] != nullptr) continue;
      RW_TRY(status_of_call(net.accept(listeners_[i], &receives_[i]), "accept"));
    }
    RW_TRY(control.check_peer());  // the other rank's connect may have failed
    idle(kPollAgainUs);
    if (now() > give_up) return Status(Code::timed_out, Scope::engine, "connect and accept did not end within 30 s");
  }
  return {};
}

void Links::close_listeners() {
  for (void* comm : listeners_) plugin_->net().close_listen(comm);
  listeners_.clear();
}

Links::~Links() {
  close_listeners();
  for (void* comm : sends_) {
    if (comm != nullptr) plugin_->net().close_send(comm);
  }
  for (void* comm : receives_) {
    if (comm != nullptr) plugin_->net().close_recv(comm);
  }
}

}  // namespace railweave::perf::net_perf
