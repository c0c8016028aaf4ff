// The entry points of NCCL's net API, one implementation for all versions. Arguments come from NCCL and are checked
// here. A function logs its failure before returning the code. Threads: as NCCL calls the entry points; endpoint.h has
// the engine's rules.
#pragma once

#include "nccl/abi/net.h"
#include "nccl/library.h"

namespace railweave::nccl::entry {

using abi::ReturnCode;

ReturnCode init(void** context, const abi::CommConfig* config, abi::Logger logger);
ReturnCode init_for_life(abi::Logger logger);
ReturnCode finalize(void* context);  // null, as after a failed init: does nothing
ReturnCode devices(int* count);

// Calls fill(device) for the device `index`. Errors: as no_such_device().
template <class Fill>
ReturnCode with_device(int index, Fill&& fill);
// Logs a wrong device index, or a call before init, and returns kInternalError.
ReturnCode no_such_device(int index, const char* entry);

ReturnCode listen(void* context, int dev, void* handle, void** listen_comm);
// `config`: has the traffic class; null: the context's class. *send_comm is null until the peer has answered: call
// again with the same handle, which names the attempt (connecting.h).
ReturnCode connect(void* context, int dev, const abi::CommConfig* config, void* handle, void** send_comm);
// *recv_comm is null until a peer has connected.
ReturnCode accept(void* listen_comm, void** recv_comm);

// `size`: bytes. `type`: kPtrHost; any other is misuse.
ReturnCode reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle);
ReturnCode dereg_mr(void* comm, void* mhandle);

// *request is null when no request is free: call again later.
ReturnCode isend(void* send_comm, void* data, std::size_t size, void** request);
// `hints`: a caller of this version sets *request to kOptionalRecvCompletion if data is read while landing. `n` other
// than 1 is misuse.
ReturnCode irecv(void* recv_comm, int n, void** data, const std::size_t* size, bool hints, void** request);
// Always misuse: there is no device memory to flush.
ReturnCode iflush();
// *sizes: bytes of the message, at most INT_MAX; may be null.
ReturnCode test(void* request, int* done, int* sizes);

ReturnCode close_listen(void* listen_comm);
ReturnCode close_comm(void* comm);

// Logs misuse of the API at WARN, and returns kInternalError.
ReturnCode misuse(const char* what);

template <class Fill>
ReturnCode with_device(int index, Fill&& fill) {
  const auto engine = Library::get().engine();
  if (!engine || index < 0 || index >= int(engine->devices().size())) return no_such_device(index, "getProperties");
  fill(engine->devices()[std::size_t(index)]);
  return abi::kSuccess;
}

}  // namespace railweave::nccl::entry
