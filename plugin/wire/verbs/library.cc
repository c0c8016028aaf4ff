#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "base/log.h"

namespace railweave::wire::verbs {
namespace {

constexpr const char* kLibrary = "libibverbs.so.1";
// An unversioned look-up can find functions of version 1.0, whose structs differ.
constexpr const char* kRequiredVersion = "IBVERBS_1.1";
constexpr const char* kFirstVersion = "IBVERBS_1.0";  // of functions that never changed

int poll_cq(ibv_cq* queue, int most, ibv_wc* completions) {
  return queue->context->ops.poll_cq(queue, most, completions);
}

int req_notify_cq(ibv_cq* queue, int solicited_only) {
  return queue->context->ops.req_notify_cq(queue, solicited_only);
}

int post_send(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  return pair->context->ops.post_send(pair, requests, bad);
}

int post_recv(ibv_qp* pair, ibv_recv_wr* requests, ibv_recv_wr** bad) {
  return pair->context->ops.post_recv(pair, requests, bad);
}

// Looks up symbols and remembers the first one that is missing.
class Binder {
 public:
  explicit Binder(const SymbolLookup& lookup) : lookup_(lookup) {}

  template <class Function>
  void required(Function*& place, const char* symbol, const char* version = kRequiredVersion) {
    optional(place, symbol, version);
    if (!place && missing_.empty()) missing_ = fmt::format("{} of version {}", symbol, version);
  }
  template <class Function>
  void optional(Function*& place, const char* symbol, const char* version) {
    place = reinterpret_cast<Function*>(lookup_(symbol, version));
  }
  const std::string& missing() const { return missing_; }  // empty: none

 private:
  const SymbolLookup& lookup_;
  std::string missing_;
};

void bind_devices(Binder& binder, Api& api) {
  binder.required(api.get_device_list, "ibv_get_device_list");
  binder.required(api.free_device_list, "ibv_free_device_list");
  binder.required(api.get_device_name, "ibv_get_device_name");
  binder.required(api.get_device_guid, "ibv_get_device_guid");
  binder.required(api.open_device, "ibv_open_device");
  binder.required(api.close_device, "ibv_close_device");
  binder.required(api.query_port, "ibv_query_port");
  binder.optional(api.query_gid_table, "_ibv_query_gid_table", "IBVERBS_1.11");
  binder.required(api.get_async_event, "ibv_get_async_event");
  binder.required(api.ack_async_event, "ibv_ack_async_event");
  binder.required(api.event_type_str, "ibv_event_type_str");
  binder.required(api.wc_status_str, "ibv_wc_status_str");
  binder.required(api.fork_init, "ibv_fork_init");
  binder.optional(api.is_fork_initialized, "ibv_is_fork_initialized", "IBVERBS_1.13");
}

void bind_objects(Binder& binder, Api& api) {
  binder.required(api.alloc_pd, "ibv_alloc_pd");
  binder.required(api.dealloc_pd, "ibv_dealloc_pd");
  binder.required(api.reg_mr, "ibv_reg_mr");
  binder.required(api.dereg_mr, "ibv_dereg_mr");
  binder.required(api.create_comp_channel, "ibv_create_comp_channel", kFirstVersion);
  binder.required(api.destroy_comp_channel, "ibv_destroy_comp_channel", kFirstVersion);
  binder.required(api.create_cq, "ibv_create_cq");
  binder.required(api.destroy_cq, "ibv_destroy_cq");
  binder.required(api.create_qp, "ibv_create_qp");
  binder.required(api.modify_qp, "ibv_modify_qp");
  binder.required(api.destroy_qp, "ibv_destroy_qp");
  binder.required(api.get_cq_event, "ibv_get_cq_event");
  binder.required(api.ack_cq_events, "ibv_ack_cq_events");
}

Status lacks(const std::string& what) {
  return Status(Code::invalid_config, Scope::engine,
                fmt::format("{}; install the packages libibverbs1 and ibverbs-providers", what));
}

Result<const Api*> load() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = ::dlerror();
    return lacks(fmt::format("cannot load {}: {}", kLibrary, why ? why : "no reason given"));
  }
  RW_ASSIGN_OR_RETURN(const Api api, bind_api([library](const char* symbol, const char* version) {
                        return ::dlvsym(library, symbol, version);
                      }));
  prepare_for_fork(api);
  return static_cast<const Api*>(new Api(api));
}

}  // namespace

Result<Api> bind_api(const SymbolLookup& lookup) {
  Api api;
  Binder binder(lookup);
  bind_devices(binder, api);
  bind_objects(binder, api);
  if (!binder.missing().empty()) return lacks(fmt::format("{} has no symbol {}", kLibrary, binder.missing()));
  api.poll_cq = &poll_cq;
  api.req_notify_cq = &req_notify_cq;
  api.post_send = &post_send;
  api.post_recv = &post_recv;
  return api;
}

void prepare_for_fork(const Api& api) {
  if (api.is_fork_initialized && api.is_fork_initialized() == IBV_FORK_UNNEEDED) return;
  if (const int err = api.fork_init(); err != 0)
    RW_INFO(net, "verbs: ibv_fork_init: errno {}: a child forked by this process may disturb RDMA lanes", err);
}

Result<const Api*> load_library() {
  static const Result<const Api*>& loaded = *new Result<const Api*>(load());
  return loaded;
}

}  // namespace railweave::wire::verbs
#endif
