// Drives one comm as NCCL's proxy does: a pass posts at most one message and tests the oldest request once. A null
// request means "try later".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "any_net/net.h"
#include "common/timed_block.h"
#include "nccl/abi/net.h"
#include "net_perf/message_memory.h"
#include "net_perf/message_sizes.h"
#include "net_perf/pattern.h"
#include "railweave/status.h"

namespace railweave::perf::net_perf {

struct VerifyCounts {
  std::uint64_t messages = 0, bytes = 0, errors = 0;
};

// Shared by the flows of one rank. Borrowed: must outlive them.
struct FlowContext {
  any_net::Net& net;
  const MessageSizes* sizes;
  const Pattern* pattern;  // null: contents are not checked
  int inflight;
  Totals& totals;
  VerifyCounts& verified;
};

class Flow {
 public:
  static constexpr std::uint64_t kNoGoal = ~std::uint64_t{0};

  // `id` is equal at both ends and different for every flow.
  Flow(const FlowContext& context, void* comm, std::uint64_t id, std::unique_ptr<MessageMemory> memory)
      : context_(context), comm_(comm), id_(id), memory_(std::move(memory)) {}
  virtual ~Flow();  // deregisters the memory
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Registers the memory. REQUIRES: called before the first step().
  Status attach();
  // Returns true if a message was posted or completed.
  Result<bool> step();

  // Posts no message beyond the first `messages`.
  void set_goal(std::uint64_t messages) { goal_ = messages; }
  std::uint64_t id() const { return id_; }
  std::uint64_t posted() const { return posted_; }
  std::uint64_t done() const { return done_; }
  std::uint64_t done_bytes() const { return done_bytes_; }
  bool at_goal() const { return done_ == goal_; }
  int inflight() const { return context_.inflight; }

 protected:
  virtual nccl::abi::ReturnCode post(std::byte* place, std::size_t size, void* mhandle, void** request) = 0;
  virtual std::size_t room_for(std::size_t size, std::uint64_t sequence) const = 0;
  virtual const char* call_name() const = 0;
  // prepare() runs before a message is posted; finish() runs after its completion with `reported` bytes.
  virtual void prepare(std::span<std::byte> message, std::uint64_t sequence) = 0;
  virtual Status finish(std::span<std::byte> message, std::uint64_t sequence, int reported) = 0;

  FlowContext context_;
  void* const comm_;
  const std::uint64_t id_;

 private:
  struct Posted {
    void* request;
    std::span<std::byte> message;
  };
  Result<bool> post_next();
  Result<bool> test_oldest();

  std::unique_ptr<MessageMemory> memory_;
  void* mhandle_ = nullptr;
  bool attached_ = false;
  std::uint64_t goal_ = 0, posted_ = 0, done_ = 0, done_bytes_ = 0;
  std::span<std::byte> next_;  // prepared and not yet accepted
  bool next_prepared_ = false;
  std::array<Posted, nccl::abi::kMaxRequests> outstanding_{};  // [done_, posted_) modulo its size
};

class SendFlow final : public Flow {
 public:
  using Flow::Flow;

 protected:
  nccl::abi::ReturnCode post(std::byte* place, std::size_t size, void* mhandle, void** request) override;
  std::size_t room_for(std::size_t size, std::uint64_t) const override { return size; }
  const char* call_name() const override { return "isend"; }
  void prepare(std::span<std::byte> message, std::uint64_t sequence) override;
  // With a pattern, overwrites the message, so that a later read of it becomes a wrong byte.
  Status finish(std::span<std::byte> message, std::uint64_t sequence, int reported) override;
};

class RecvFlow final : public Flow {
 public:
  using Flow::Flow;

 protected:
  nccl::abi::ReturnCode post(std::byte* place, std::size_t size, void* mhandle, void** request) override;
  // With random sizes a receive is often larger than its send.
  std::size_t room_for(std::size_t size, std::uint64_t sequence) const override;
  const char* call_name() const override { return "irecv"; }
  void prepare(std::span<std::byte>, std::uint64_t) override {}
  Status finish(std::span<std::byte> message, std::uint64_t sequence, int reported) override;
};

}  // namespace railweave::perf::net_perf
