// An endpoint of libfabric with everything that it needs: domain, completion queue, address vector, and the memory of
// its slots. An endpoint belongs to one lane. So does the domain, because the provider tcp moves the data of a whole
// domain under one lock, and wakes all waiters of a domain.
//
// Threads: one at a time. open() and close_now() may block: they are for the endpoint thread (endpoint_thread.h).
// Lifetime: the fabric must outlive the endpoint. The memory of the slots must stay until close_now() is true.
// Source: fi_endpoint(3), fi_cq(3), fi_mr(3) of libfabric 1.17.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/ofi/library.h"
#include "wire/ofi/provider.h"

namespace railweave::wire::ofi {

class Endpoint {
 public:
  // Errors: Code::exhausted (no memory), or Code::system, naming the call and the provider.
  static Result<std::unique_ptr<Endpoint>> open(const Library& library, fid_fabric* fabric, const Provider& provider);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  // REQUIRES: close_now() was true.
  ~Endpoint();

  // Closes what can be closed now. False: call again after a while.
  bool close_now();
  int close_error() const { return close_error_; }  // of the last close_now() that was false; negative

  fid_ep* endpoint() const { return endpoint_; }
  fid_cq* queue() const { return queue_; }
  fid_av* addresses() const { return addresses_; }
  const std::vector<std::byte>& name() const { return name_; }
  int descriptor() const { return descriptor_; }  // becomes readable with the queue; -1: none

  // --- Slots: shape().receive_slots for sending, and as many for receiving behind them.
  const message::ChannelShape& shape() const { return shape_; }
  std::uint32_t all_slots() const { return 2 * shape_.receive_slots; }
  std::span<std::byte> slot(std::uint32_t index) const {
    return {memory_.get() + std::size_t(index) * shape_.slot_bytes, shape_.slot_bytes};
  }
  void* memory_key() const { return memory_region_ ? fi_mr_desc(memory_region_) : nullptr; }  // of all slots
  // The provider may write to a context while a slot is in use.
  void* context_of(std::uint32_t slot) { return &contexts_[slot]; }
  std::uint32_t slot_of(const void* context) const;  // all_slots(): no context of this endpoint

  // For the endpoint thread's lists.
  std::unique_ptr<Endpoint> next;
  TimePoint close_began{};
  Nanos open_took{};

 private:
  struct Pages {
    void operator()(std::byte* memory) const { ::operator delete[](memory, kPage); }
  };
  static constexpr std::align_val_t kPage{4096};

  explicit Endpoint(const message::ChannelShape& shape) : shape_(shape) {}
  Status open_all(const Library& library, fid_fabric* fabric, const Provider& provider);
  int open_queue(bool waits);
  int register_memory(const Provider& provider);
  int ask_name();
  template <class Object>
  bool closed(Object*& object);

  std::size_t memory_bytes() const { return std::size_t(all_slots()) * shape_.slot_bytes; }

  const message::ChannelShape shape_;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fid_mr* memory_region_ = nullptr;  // null: the provider needs no registration
  std::unique_ptr<std::byte[], Pages> memory_;
  std::array<fi_context2, 2 * kSlotsMost> contexts_{};
  std::vector<std::byte> name_;
  int descriptor_ = -1;
  int close_error_ = 0;
};

}  // namespace railweave::wire::ofi
