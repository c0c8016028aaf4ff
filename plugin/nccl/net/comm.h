// What NCCL holds by void*: listen comms, attempts to connect, send and receive comms, their requests and memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "railweave/endpoint.h"

namespace railweave::nccl {

class Context;

// Anything NCCL may forget to close: owned by the registry, reaped with its context.
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

// A connect that has not ended. `nonce` tells the handle that began it from one that only looks like it.
struct Attempt final : Owned {
  Attempt(const Context* context, std::unique_ptr<Connector> c, std::uint64_t n)
      : Owned(context), connector(std::move(c)), nonce(n) {}
  std::unique_ptr<Connector> connector;
  const std::uint64_t nonce;
};

class Comm;

// What NCCL calls a request: test() is given nothing else, so it knows its comm.
struct NcclRequest {
  Comm* comm = nullptr;
  Request* request = nullptr;
  NcclRequest* next_free = nullptr;
};

// What NCCL calls an mhandle.
struct Memory {
  void* data;
  std::size_t size;
};

// One end of a comm. Threads: post and test by one thread, the memory by one (another, NCCL's service thread).
class Comm final : public Owned {
 public:
  Comm(const Context* context, std::unique_ptr<SendStream> stream);
  Comm(const Context* context, std::unique_ptr<RecvStream> stream);

  bool sends() const { return send_ != nullptr; }

  // Null: no room now. Errors: wrong direction (internal), the stream has failed.
  Result<NcclRequest*> send(const void* data, std::size_t size);
  Result<NcclRequest*> receive(void* data, std::size_t capacity, Reading reading);

  // After done=true or an error the ticket is free.
  Result<Progress> test(NcclRequest& ticket);

  Memory* add_memory(void* data, std::size_t size);
  // After return nobody touches the range for this comm. Errors: `memory` was not registered here (internal).
  Status withdraw_memory(const Memory* memory);

  // True the first time only: a stream's error comes back from every later call and is told once.
  bool first_error() { return !std::exchange(reported_, true); }

 private:
  explicit Comm(const Context* context);
  Result<NcclRequest*> ticket_for(Result<Request*> posted);
  void free(NcclRequest& ticket);

  std::array<NcclRequest, kRequestsPerStream> tickets_;
  NcclRequest* free_ = nullptr;
  std::list<Memory> memory_;
  SendStream* send_ = nullptr;
  RecvStream* recv_ = nullptr;
  bool reported_ = false;
  std::unique_ptr<Stream> stream_;
};

}  // namespace railweave::nccl
