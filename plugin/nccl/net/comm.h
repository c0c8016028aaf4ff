// The objects that NCCL holds as void*: listen comms, send and receive comms, their requests and registered memory. An
// attempt to connect is named in NCCL's handle (connecting.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "railweave/endpoint.h"

namespace railweave::nccl {

class Context;

// An object that NCCL may forget to close. The Library owns the object, and destroys it with its context at the latest.
struct Owned {
  explicit Owned(const Context* context) : owner(context) {}
  virtual ~Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  const Context* const owner;
};

struct ListenComm final : Owned {
  ListenComm(const Context* context, std::unique_ptr<Listener> l) : Owned(context), listener(std::move(l)) {}
  std::unique_ptr<Listener> listener;
};

// A connect that has not ended. `nonce` distinguishes the handle that began this attempt from a damaged or stale one.
struct Attempt final : Owned {
  Attempt(const Context* context, std::unique_ptr<Connector> c, std::uint64_t n)
      : Owned(context), connector(std::move(c)), nonce(n) {}
  std::unique_ptr<Connector> connector;
  const std::uint64_t nonce;
};

class Comm;

// NCCL's request. NCCL's test gets no other argument, so the request names its comm.
struct NcclRequest {
  Comm* comm = nullptr;
  Request* request = nullptr;
  NcclRequest* next_free = nullptr;
};

// NCCL's mhandle: a registered range.
struct Memory {
  void* data;
  std::size_t size;
};

// One end of a comm. Threads: send(), receive() and test() by one thread; memory functions by one thread, which may be
// another one (NCCL's service thread).
class Comm final : public Owned {
 public:
  Comm(const Context* context, std::unique_ptr<SendStream> stream);
  Comm(const Context* context, std::unique_ptr<RecvStream> stream);

  bool sends() const { return send_ != nullptr; }

  // Posts a message. Null: no free request, call again. Errors: internal (wrong direction); as the stream's post().
  Result<NcclRequest*> send(const void* data, std::size_t size);
  Result<NcclRequest*> receive(void* data, std::size_t capacity, Reading reading);

  // After done=true or an error `nccl_request` is free for another message. Errors: as Stream::test(); internal (the
  // request has already ended).
  Result<Progress> test(NcclRequest& nccl_request);

  Memory* add_memory(void* data, std::size_t size);
  // After return no thread reads or writes the range for this comm (Stream::withdraw()). Errors: internal (`memory` is
  // not registered with this comm).
  Status withdraw_memory(const Memory* memory);

  // True at the first call only. A failed stream returns its error from every call; the error is logged once.
  bool first_error() { return !std::exchange(reported_, true); }

 private:
  explicit Comm(const Context* context);
  Result<NcclRequest*> nccl_request_for(Result<Request*> posted);
  void free(NcclRequest& nccl_request);

  std::array<NcclRequest, kRequestsPerStream> requests_;
  NcclRequest* free_ = nullptr;  // list of free requests_, by next_free
  std::list<Memory> memory_;     // nodes stay in place: NCCL has their addresses
  SendStream* send_ = nullptr;   // stream_, on a sending comm; else null
  RecvStream* recv_ = nullptr;   // stream_, on a receiving comm; else null
  bool reported_ = false;        // first_error() was called
  std::unique_ptr<Stream> stream_;
};

}  // namespace railweave::nccl
