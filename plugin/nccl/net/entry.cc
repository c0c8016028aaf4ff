#include "nccl/net/entry.h"

#include <climits>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "nccl/logger.h"
#include "nccl/net/connecting.h"
#include "nccl/net/outcome.h"

namespace railweave::nccl::entry {
namespace {

// A failed stream returns its error from every call: logged at the first one. The engine has logged a session's error
// for all streams of the session. The error of a single wrong request is logged each time.
ReturnCode report_for(Comm& comm, const Status& status) {
  if (status.scope() == Scope::request) return report(status);
  return comm.first_error() && status.scope() != Scope::session ? report(status) : return_code(status.code());
}

Status check_traffic_class(const abi::CommConfig* config) {
  if (!config || config->trafficClass == abi::kTrafficClassUndefined) return {};
  if (config->trafficClass >= 0 && config->trafficClass <= 255) return {};
  return Status(Code::invalid_argument, Scope::engine,
                fmt::format("traffic class {}: expected 0 to 255 (the IP TOS octet)", config->trafficClass));
}

// From v11 on the caller passes its context. Up to v10 there is one context, for life.
Context* context_of(void* context) { return context ? static_cast<Context*>(context) : Library::get().life_context(); }

bool has_device(const Context& context, int dev) { return dev >= 0 && dev < int(context.engine().devices().size()); }

}  // namespace

ReturnCode misuse(const char* what) { return report(Status(Code::internal, Scope::request, what)); }

ReturnCode no_such_device(int index, const char* entry) {
  const auto engine = Library::get().engine();
  return report(Status(Code::internal, Scope::request,
                       engine ? fmt::format("{}: device {}, there are {}", entry, index, engine->devices().size())
                              : fmt::format("{}: called before init", entry)));
}

ReturnCode init(void** context, const abi::CommConfig* config, abi::Logger logger) {
  log_through(logger);
  if (!context) return misuse("init: no place for the context");
  *context = nullptr;
  if (const Status status = check_traffic_class(config); !status.ok()) return report(status);
  auto opened = Library::get().open(config ? config->trafficClass : abi::kTrafficClassUndefined);
  if (!opened.ok()) return report(opened.status());
  *context = opened.value();
  return abi::kSuccess;
}

ReturnCode init_for_life(abi::Logger logger) {
  log_through(logger);
  const auto opened = Library::get().open_for_life();
  return report(opened.status());
}

ReturnCode finalize(void* context) { return context ? report(Library::get().close(context)) : abi::kSuccess; }

ReturnCode devices(int* count) {
  const auto engine = Library::get().engine();
  if (!engine || !count) return misuse("devices: called before init, or without a place for the answer");
  *count = int(engine->devices().size());
  return abi::kSuccess;
}

ReturnCode listen(void* context_pointer, int dev, void* handle, void** listen_comm) {
  Context* const context = context_of(context_pointer);
  if (!context || !handle || !listen_comm) return misuse("listen: called before init, or a null argument");
  if (!has_device(*context, dev)) return no_such_device(dev, "listen");
  Handle filled{};
  auto listener = context->engine().listen(dev, filled);
  if (!listener.ok()) return report(listener.status());
  std::memcpy(handle, filled.data(), filled.size());
  *listen_comm = Library::get().add<ListenComm>(context, std::move(listener.value()));
  return abi::kSuccess;
}

ReturnCode connect(void* context_pointer, int dev, const abi::CommConfig* config, void* handle, void** send_comm) {
  Context* const context = context_of(context_pointer);
  if (!context || !handle || !send_comm) return misuse("connect: called before init, or a null argument");
  *send_comm = nullptr;
  if (!has_device(*context, dev)) return no_such_device(dev, "connect");
  if (const Status status = check_traffic_class(config); !status.ok()) return report(status);
  auto stream = connect_or_poll(*context, dev, config ? config->trafficClass : context->traffic_class(), handle);
  if (!stream.ok()) return report(stream.status());
  if (stream.value()) *send_comm = Library::get().add<Comm>(context, std::move(stream.value()));
  return abi::kSuccess;
}

ReturnCode accept(void* listen_comm, void** recv_comm) {
  if (!listen_comm || !recv_comm) return misuse("accept: a null argument");
  *recv_comm = nullptr;
  auto& listening = *static_cast<ListenComm*>(listen_comm);
  auto stream = listening.listener->accept();
  if (!stream.ok()) return report(stream.status());
  if (stream.value()) *recv_comm = Library::get().add<Comm>(listening.owner, std::move(stream.value()));
  return abi::kSuccess;
}

ReturnCode reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) {
  if (!comm || !mhandle) return misuse("regMr: a null argument");
  *mhandle = nullptr;
  if (type != abi::kPtrHost)
    return misuse("regMr: memory that is not the host's, though getProperties offered host memory only");
  *mhandle = static_cast<Comm*>(comm)->add_memory(data, size);
  return abi::kSuccess;
}

ReturnCode dereg_mr(void* comm, void* mhandle) {
  if (!comm) return misuse("deregMr: a null argument");
  if (!mhandle) return abi::kSuccess;
  return report(static_cast<Comm*>(comm)->withdraw_memory(static_cast<const Memory*>(mhandle)));
}

ReturnCode isend(void* send_comm, void* data, std::size_t size, void** request) {
  if (!send_comm || !request || (!data && size)) return misuse("isend: a null argument");
  *request = nullptr;
  Comm& comm = *static_cast<Comm*>(send_comm);
  const auto nccl_request = comm.send(data, size);
  if (!nccl_request.ok()) return report_for(comm, nccl_request.status());
  *request = nccl_request.value();
  return abi::kSuccess;
}

namespace {

// Where callers give no hints, each receive of up to one LL128 step may be one of LL or LL128, read while landing.
Reading reading_of(bool hints, const void* hint, std::size_t size) {
  constexpr std::size_t kLl128StepBytes = 614'400;
  const bool hinted = reinterpret_cast<std::uintptr_t>(hint) == abi::kOptionalRecvCompletion;
  const bool meanwhile = hints && Library::get().nccl_hints() ? hinted : size <= kLl128StepBytes;
  return meanwhile ? Reading::while_landing : Reading::when_done;
}

}  // namespace

ReturnCode irecv(void* recv_comm, int n, void** data, const std::size_t* size, bool hints, void** request) {
  if (!recv_comm || !data || !size || !request) return misuse("irecv: a null argument");
  const void* const hint = std::exchange(*request, nullptr);
  if (n != 1) return misuse("irecv: more than one buffer, though getProperties said maxRecvs 1");
  if (!data[0] && size[0]) return misuse("irecv: a null buffer");
  Comm& comm = *static_cast<Comm*>(recv_comm);
  const auto nccl_request = comm.receive(data[0], size[0], reading_of(hints, hint, size[0]));
  if (!nccl_request.ok()) return report_for(comm, nccl_request.status());
  *request = nccl_request.value();
  return abi::kSuccess;
}

ReturnCode iflush() { return misuse("iflush: there is no device memory to flush, host memory only"); }

ReturnCode test(void* request, int* done, int* sizes) {
  if (!request || !done) return misuse("test: a null argument");
  *done = 0;
  NcclRequest& nccl_request = *static_cast<NcclRequest*>(request);
  const auto progress = nccl_request.comm->test(nccl_request);
  if (!progress.ok()) return report_for(*nccl_request.comm, progress.status());
  if (!progress.value().done) return abi::kSuccess;
  if (sizes) *sizes = int(std::min<std::size_t>(progress.value().bytes, INT_MAX));
  *done = 1;
  return abi::kSuccess;
}

ReturnCode close_listen(void* listen_comm) {
  return Library::get().take<ListenComm>(listen_comm) ? abi::kSuccess : misuse("closeListen: no such listen comm");
}

ReturnCode close_comm(void* comm) {
  return Library::get().take<Comm>(comm) ? abi::kSuccess : misuse("closeSend, closeRecv: no such comm");
}

}  // namespace railweave::nccl::entry
