// What the entries of every version do, once. Arguments are NCCL's, checked here; failures were reported when a
// function returns. Threads: as NCCL calls them; see endpoint.h for what is behind.
#pragma once

#include "nccl/abi/net.h"
#include "nccl/library.h"

namespace railweave::nccl::entry {

using abi::ReturnCode;

ReturnCode init(void** context, const abi::CommConfig* config, abi::Logger logger);
ReturnCode init_for_life(abi::Logger logger);
ReturnCode finalize(void* context);  // null: nothing to do, as after an init that failed
ReturnCode devices(int* count);

// Calls fill(device) with the device of that index.
template <class Fill>
ReturnCode with_device(int index, Fill&& fill);
ReturnCode no_such_device(int index, const char* entry);

ReturnCode listen(void* context, int dev, void* handle, void** listen_comm);
// `traffic_class`: null = the context's. *send_comm stays null until the peer answered; the handle holds the state.
ReturnCode connect(void* context, int dev, const abi::CommConfig* config, void* handle, void** send_comm);
ReturnCode accept(void* listen_comm, void** recv_comm);

ReturnCode reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle);
ReturnCode dereg_mr(void* comm, void* mhandle);

// *request null: again later.
ReturnCode isend(void* send_comm, void* data, std::size_t size, void** request);
// `hints`: the caller of this version says in *request when it reads data while it lands.
ReturnCode irecv(void* recv_comm, int n, void** data, const std::size_t* size, bool hints, void** request);
ReturnCode iflush();
ReturnCode test(void* request, int* done, int* sizes);

ReturnCode close_listen(void* listen_comm);
ReturnCode close_comm(void* comm);

// Misuse of the API: warns, and gives ncclInternalError.
ReturnCode misuse(const char* what);

template <class Fill>
ReturnCode with_device(int index, Fill&& fill) {
  const auto engine = Library::get().engine();
  if (!engine || index < 0 || index >= int(engine->devices().size())) return no_such_device(index, "getProperties");
  fill(engine->devices()[std::size_t(index)]);
  return abi::kSuccess;
}

}  // namespace railweave::nccl::entry
